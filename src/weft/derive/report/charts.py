"""Charts as HTML and inline SVG that follow the width of the page; every number is text as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from weft.derive.report.markup import Html, tag, text
from weft.derive.stats.model import Bar, Counts, Timeline
from weft.text.human import counted, human_seconds

_BARS = 10
_COLUMNS = 16
_LABELS = 6  # below columns: where there are more, every second or third has one, and none wraps
_WIDTH = 1_000
_HEIGHT = 200


class Value(NamedTuple):
    """A bar: what it is, how long, and the class that colours it."""

    label: str
    number: int
    kind: str = ""


def card(title: str, *content: Html | None, note: str = "") -> Html:
    """A chart or a table with its heading."""
    return tag(
        "section",
        tag("h3", title),
        *content,
        tag("p", note, class_="note") if note else None,
        class_="card",
    )


def values_of(counts: Counts, kind: str = "", most: int = _BARS) -> list[Value]:
    """The first of many counts, the others as one."""
    rows = [Value(name, number, kind) for name, number in counts.items()]
    if len(rows) <= most:
        return rows
    rest = rows[most - 1 :]
    return [*rows[: most - 1], Value(counted(len(rest), "other"), sum(row.number for row in rest), "rest")]


def bars(rows: Sequence[Value], names: str) -> Html:
    """Bars that lie: a table of names, bars and numbers."""
    if not rows:
        return tag("p", "none", class_="none")
    most, total = max(row.number for row in rows) or 1, sum(row.number for row in rows) or 1
    lines = [
        tag(
            "tr",
            tag("th", tag("bdi", row.label), scope="row", title=row.label[:200]),
            tag("td", _bar(row.number / most, row.kind), class_="bar"),
            tag("td", row.number, class_="n"),
            tag("td", share(row.number / total), class_="n part"),
        )
        for row in rows
    ]
    head = tag("tr", tag("th", names), tag("th", "bar"), tag("th", "number"), tag("th", "share"))
    return tag("table", tag("thead", head, class_="unseen"), tag("tbody", lines), class_="bars")


def _bar(length: float, kind: str) -> Html:
    shape = Html(f'<rect width="{max(0.4, 100 * length):.2f}" height="10" rx=".6" class="{kind or "plain"}"/>')
    return Html(f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{shape}</svg>')


def columns(rows: Sequence[Value], names: str) -> Html:
    """Bars that stand, their numbers above and their names below."""
    if not rows:
        return tag("p", "none", class_="none")
    most = max(row.number for row in rows) or 1
    step = -(-len(rows) // _LABELS)
    items = [
        tag(
            "li",
            tag("span", short(row.number), class_="n", title=f"{row.number:,}"),
            _column(row.number / most, row.kind),
            tag("span", tag("span", row.label, class_="unseen" if number % step else None), class_="l"),
            title=f"{row.label}: {row.number:,}",
        )
        for number, row in enumerate(rows)
    ]
    return tag("ol", items, class_="cols", aria_label=names)


def _column(height: float, kind: str) -> Html:
    tall = max(0.6, 100 * height) if height else 0
    shape = f'<rect y="{100 - tall:.2f}" width="10" height="{tall:.2f}" class="{kind or "plain"}"/>'
    return Html(f'<svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">{shape}</svg>')


def depth_columns(depths: Counts) -> Html:
    """Pages by depth, coloured as in the map; what lies very deep as one column."""
    rows = [Value(depth, number, f"d{min(7, int(depth))}") for depth, number in depths.items()]
    if len(rows) > _COLUMNS:
        deep = rows[_COLUMNS - 1 :]
        rows = [*rows[: _COLUMNS - 1], Value(f"{deep[0].label}+", sum(row.number for row in deep), "d7")]
    return columns(rows, "pages by depth")


def histogram(found: Sequence[Bar], unit: str) -> Html:
    """A histogram of bytes or of milliseconds."""
    write = _bytes if unit == "bytes" else _milliseconds
    rows = [Value(write(bar.least), bar.number) for bar in found[:_COLUMNS]]
    return columns(rows, f"pages by {unit}: each column begins at its label")


def _bytes(size_b: int) -> str:
    """The edge of a bar, which is a power of two of kilobytes."""
    return f"{size_b // 1_000_000} MB" if size_b >= 1_000_000 else f"{size_b // 1_000} kB"


def _milliseconds(value: int) -> str:
    return f"{value} ms" if value < 1_000 else f"{value // 1_000} s"


def short(number: int) -> str:
    """A number in at most five characters."""
    for unit, factor in (("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)):
        if number >= 10 * factor:
            return f"{number / factor:.0f}{unit}"
        if number >= factor:
            return f"{number / factor:.1f}{unit}".replace(".0", "")
    return str(number)


def share(part: float) -> str:
    if part >= 0.995:
        return f"{part:.0%}"
    return f"{part:.1%}" if part >= 0.001 else "<0.1%"


# ---- time ------------------------------------------------------------------------------------------------------


def time_chart(timeline: Timeline) -> Html:
    """Pages and requests a second over the running time; where runs began is marked."""
    moments, step = timeline.moments, timeline.step_s
    if not moments:
        return tag("p", "nothing was asked yet", class_="none")
    requests = [moment.requests / step for moment in moments]
    pages = [moment.pages / step for moment in moments]
    top = _nice(max(requests))
    end_s = len(moments) * step
    marks = "".join(
        f'<line x1="{_WIDTH * at / end_s:.1f}" x2="{_WIDTH * at / end_s:.1f}" y1="0" y2="{_HEIGHT}" class="run"/>'
        for at in timeline.runs_s[1:]
        if at < end_s
    )
    grid = "".join(f'<line x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}" class="grid"/>' for y in (0, 100, _HEIGHT))
    drawing = f"{grid}{_area(requests, top, 'requests')}{_area(pages, top, 'pages')}{marks}"
    picture = Html(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="pages and requests a second over time">{drawing}</svg>'
    )
    labels = [human_seconds(end_s * part) if part else "0" for part in (0, 0.25, 0.5, 0.75, 1)]
    return tag(
        "figure",
        tag("div", picture, tag("span", f"{_rate(top)} a second", class_="top"),
            tag("span", _rate(top / 2), class_="mid"),
            class_="plot"),
        tag("div", [tag("span", label) for label in labels], class_="axis"),
        tag("figcaption", tag("span", "pages", class_="key pages"), tag("span", "all requests", class_="key requests"),
            tag("span", "a new run begins", class_="key run") if marks else None),
        class_="time",
    )  # fmt: skip


def _area(values: Sequence[float], top: float, kind: str) -> str:
    """Steps, not a curve: what is shown is what was counted."""
    width = _WIDTH / len(values)
    points = "".join(
        f"V{_HEIGHT - _HEIGHT * value / top:.1f}H{(number + 1) * width:.1f}" for number, value in enumerate(values)
    )
    return f'<path d="M0 {_HEIGHT}{points}V{_HEIGHT}Z" class="{kind}"/>'


def _nice(most: float) -> float:
    """The next round number."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10) if step * power >= most * 0.999)


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


# ---- across sites ----------------------------------------------------------------------------------------------


def scatter(sites: Iterable[tuple[str, int, int]], pages_median: float, links_median: float) -> Html:
    """R19: a point a site, pages to the right, links upwards, in powers of ten; the medians make four groups."""
    points = [(name, pages, links) for name, pages, links in sites if pages]
    if not points:
        return tag("p", "no site has pages", class_="none")
    wide, high, left, low = 440, 300, 46, 34
    x_most = max(1.0, math.log10(max(pages for _, pages, _ in points) + 1))
    y_most = max(1.0, math.log10(max(links for _, _, links in points) + 1))

    def x(value: float) -> float:
        return left + (wide - left - 12) * math.log10(value + 1) / x_most

    def y(value: float) -> float:
        return high - low - (high - low - 14) * math.log10(value + 1) / y_most

    parts = [_ticks(x_most, x, low=high - low, across=False), _ticks(y_most, y, low=left, across=True)]
    middle_x, middle_y = x(pages_median), y(links_median)
    parts.append(f'<line x1="{middle_x:.1f}" x2="{middle_x:.1f}" y1="8" y2="{high - low}" class="median"/>')
    parts.append(f'<line x1="{left}" x2="{wide - 6}" y1="{middle_y:.1f}" y2="{middle_y:.1f}" class="median"/>')
    corners = (
        ("I", left + 6, high - low - 7),
        ("II", left + 6, 20),
        ("III", wide - 22, high - low - 7),
        ("IV", wide - 22, 20),
    )
    parts += [f'<text x="{at_x}" y="{at_y}" class="group">{name}</text>' for name, at_x, at_y in corners]
    for name, pages, links in points:
        title = text(f"{name}: {counted(pages, 'page')}, {counted(links, 'link')}")
        parts.append(
            f'<circle cx="{x(pages):.1f}" cy="{y(links):.1f}" r="4.5" class="point"><title>{title}</title></circle>'
        )
    parts.append(f'<text x="{wide / 2:.0f}" y="{high - 4}" class="name">pages</text>')
    parts.append(
        f'<text x="12" y="{high / 2:.0f}" transform="rotate(-90 12 {high / 2:.0f})" class="name">internal links</text>'
    )
    return Html(
        f'<svg viewBox="0 0 {wide} {high}" class="scatter" role="img" aria-label="sites by pages and links">'
        f"{''.join(parts)}</svg>"
    )


def _ticks(most: float, place: Callable[[float], float], *, low: float, across: bool) -> str:
    lines = []
    for power in range(int(most) + 1):
        value = 10**power
        at = place(value - 1 if power == 0 else value)
        label = short(value) if power else "0"
        if across:
            lines.append(f'<text x="{low - 5}" y="{at + 4:.1f}" class="tick end">{label}</text>')
        else:
            lines.append(f'<text x="{at:.1f}" y="{low + 14}" class="tick">{label}</text>')
    return "".join(lines)
