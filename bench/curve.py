"""The curves of ``growth.py`` as a picture, drawn without a library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 34, 40
PANELS = (
    ("links_per_cpu_s", "links offered per CPU second", 1e-3, "k"),
    ("memory_mb", "memory, MB", 1.0, ""),
    ("beside_text_b_per_url", "disk beside the text, bytes a URL", 1.0, ""),
    ("take_us", "take, CPU µs a lease", 1.0, ""),
)


def svg_of(rows: Sequence[Mapping[str, float]]) -> str:
    """Four panels, each against the number of URLs known (a logarithmic axis)."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {2 * HEIGHT}"'
        f' width="{2 * WIDTH}" height="{2 * HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{2 * WIDTH}" height="{2 * HEIGHT}" fill="white"/>',
    ]
    for number, (name, title, factor, unit) in enumerate(PANELS):
        points = [(row["urls"], row[name] * factor) for row in rows]
        place = f"translate({number % 2 * WIDTH},{number // 2 * HEIGHT})"
        parts.append(f'<g transform="{place}">{"".join(_panel(title, unit, points))}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(title: str, unit: str, points: Sequence[tuple[float, float]]) -> list[str]:
    low, high = math.log10(points[0][0]), max(math.log10(points[-1][0]), math.log10(points[0][0]) + 1e-9)
    top = _round_up(max(value for _, value in points))
    inner_w, inner_h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(urls: float) -> float:
        return LEFT + (math.log10(urls) - low) / (high - low) * inner_w

    def y(value: float) -> float:
        return TOP + (1 - value / top) * inner_h

    drawn = [f'<text x="{LEFT}" y="{TOP - 14}" font-size="13">{title}</text>']
    for step in range(5):
        value = top * step / 4
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}{unit}</text>')
    for power in range(math.ceil(low - 0.05), math.floor(high + 0.05) + 1):
        at = x(10**power)
        drawn.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
        drawn.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_short(10**power)}</text>')
    line = " ".join(f"{x(urls):.1f},{y(value):.1f}" for urls, value in points)
    drawn.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    drawn += [f'<circle cx="{x(urls):.1f}" cy="{y(value):.1f}" r="3" fill="#1f5fa8"/>' for urls, value in points]
    middle = LEFT + inner_w / 2
    drawn.append(f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#555">URLs known</text>')
    return drawn


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(factor * power for factor in (1, 2, 4, 5, 10) if factor * power >= value * 0.999)


def _short(number: float) -> str:
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number / 1e3:g}k"
