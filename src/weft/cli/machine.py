"""What commands print for machines."""

from __future__ import annotations

import msgspec

from weft.text.safe import in_json


def print_json(value: object) -> None:
    """Prints one JSON object on one line; a terminal that shows it stays as it is."""
    print(in_json(msgspec.json.encode(value)).decode())
