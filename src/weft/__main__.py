"""``python -m weft``, and what the script ``./weft`` runs."""

from __future__ import annotations

import os
import sys

from weft.cli import main

if __name__ == "__main__":
    if sys.flags.no_site:  # the script starts Python without what it does for other programs, a fifth of its own start
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        environment = os.path.dirname(os.path.dirname(sys.executable))
        sys.path.append(os.path.join(environment, "lib", version, "site-packages"))
    code = main()
    from weft.streams import leave

    leave(code)
