"""The pace of ``--pace auto``: how long to leave a site alone between two requests, by how it answers. Pure.

It only ever adds to the delay that the user and robots.txt ask for.
"""

from __future__ import annotations

SHARE = 2.0  # a slot of a site works for us half of the time: a pause as long as the answer took
UP = 0.5  # of the way to what the last answer asks for, where that is slower
DOWN = 0.125  # where it is faster
REFUSED_S = 1.0


def next_pace_s(
    pace_s: float, answer_s: float, status: int | None, *, delay_s: float, parallel: int, most_s: float
) -> float:
    """Seconds from start to start after one more answer, which took ``answer_s``; ``status`` is None without answer.

    429 and 503 double the pace, and make it a second at least. Other errors of the server, and failures, may slow down
    and never speed up: an error page is made quickly.
    """
    if status in (429, 503):
        return min(max(2 * pace_s, 2 * delay_s, REFUSED_S), max(most_s, pace_s))
    wanted_s = min(SHARE * answer_s / parallel, most_s)
    if wanted_s > pace_s:
        return pace_s + UP * (wanted_s - pace_s)
    return pace_s + DOWN * (wanted_s - pace_s) if status is not None and status < 500 else pace_s
