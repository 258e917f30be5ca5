"""The size of an image in pixels, by its first bytes; nothing is unpacked."""

from __future__ import annotations

import io

_LARGEST = 1 << 31  # larger numbers are nonsense that no picture has


def image_size(body: bytes) -> tuple[int | None, int | None]:
    """Width and height of an image; None for each where its format is not known, or it does not say."""
    import imagesize  # type: ignore[import-untyped]

    try:
        width, height = imagesize.get(io.BytesIO(body))
    except Exception:  # the border to foreign code: what it cannot read has no size
        return None, None
    if not (0 < width < _LARGEST and 0 < height < _LARGEST):
        return None, None
    return int(width), int(height)
