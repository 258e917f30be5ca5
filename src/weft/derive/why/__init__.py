"""The story of a URL: where it was found, how it was rewritten, which rule let it in or kept it out, what came of it.

``story_of`` gives a ``Story``; its fields, and those of the values inside it, are what ``weft why --json`` prints and
do not change their names. A known URL costs a handful of look-ups, however large the crawl; only for a URL that was
never seen are the specification and the trap budgets loaded, to tell what would become of it.
"""

from __future__ import annotations

from weft.derive.why.story import Attempt, Body, Found, Rewriting, RobotsSays, Story
from weft.derive.why.tell import story_of

__all__ = ["Attempt", "Body", "Found", "Rewriting", "RobotsSays", "Story", "story_of"]
