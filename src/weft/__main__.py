"""``python -m weft``, and what the script ``./weft`` runs."""

from __future__ import annotations

import sys

from weft.cli import main

if __name__ == "__main__":
    if sys.flags.no_site:  # the script starts Python without what it does for other programs, a fifth of its own start
        environment = sys.executable.rpartition("/bin/")[0]
        sys.path.append(f"{environment}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
    code = main()
    from weft.streams import leave

    leave(code)
