"""What a picture of a graph shows: which nodes, where, with which names. The painters only draw it."""

from __future__ import annotations

import heapq
import math
import random
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from weft.derive.graph.look import Color
from weft.derive.graph.model import Graph, Node
from weft.ports import Progress, silent
from weft.text.human import counted
from weft.text.safe import shown

if TYPE_CHECKING:
    import igraph

MOST_NODES = 250
WIDTH, HEIGHT = 1600, 1200
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 130, 60, 90
_ALL_NAMED = 40
_ALWAYS_NAMED = 12  # the largest discs
_NAME_LENGTH = 34
_LEGEND = 8
_LARGEST, _SMALLEST = 26.0, 4.0
_SEPARATORS = (" \u2014 ", " \u2013 ", " | ", " - ", " :: ", " \u00b7 ", " \u00bb ")


_Box = tuple[float, float, float, float]


class Disc(NamedTuple):
    """A node."""

    x: float
    y: float
    radius: float
    color: Color
    tooltip: str
    url: str


class Curve(NamedTuple):
    """An edge from point to point, bent by its control point. ``opacity`` is 0..1."""

    start: tuple[float, float]
    control: tuple[float, float]
    end: tuple[float, float]
    width: float
    color: Color
    opacity: float
    arrow: bool


class Text(NamedTuple):
    """Words; ``anchor`` is start, middle or end. ``halo``: white behind them, where lines may cross."""

    x: float
    y: float
    words: str
    size: float
    anchor: str = "start"
    color: Color = (30, 30, 30)
    bold: bool = False
    halo: bool = False


class Scene(NamedTuple):
    """All of a picture, from back to front."""

    curves: list[Curve]
    discs: list[Disc]
    texts: list[Text]
    title: str


class _Chosen(NamedTuple):
    node: Node
    weight: float
    group: str


def scene_of(graph: Graph, progress: Progress = silent) -> Scene:
    """The picture of a graph: all of it where it is small, else the nodes that most links lead to."""
    chosen = _chosen(graph, progress)
    numbers = {one.node.id: number for number, one in enumerate(chosen)}
    edges = [
        (numbers[edge.source], numbers[edge.target], edge.weight)
        for batch in graph.edges(progress)
        for edge in batch
        if edge.source in numbers and edge.target in numbers and edge.source != edge.target
    ]
    places = _placed(len(chosen), edges)
    names = _names(graph, chosen)
    discs = _discs(chosen, places, names)
    texts = [*_heading(graph, len(chosen), len(edges)), *_legend(graph, chosen), *_labels(discs, names)]
    return Scene(_curves(discs, edges), discs, texts, graph.name)


# ---- which nodes -----------------------------------------------------------------------------------------------


def _chosen(graph: Graph, progress: Progress) -> list[_Chosen]:
    """The nodes shown, those with most links first."""
    places = {field.name: place for place, field in enumerate(graph.fields)}
    heap: list[tuple[float, int, _Chosen]] = []
    for node in graph.nodes(progress):
        weight = _weight(node, places)
        group = node.values[places["site"]] if "site" in places else ""
        heapq.heappush(heap, (weight, -node.id, _Chosen(node, weight, str(group))))
        if len(heap) > MOST_NODES:
            heapq.heappop(heap)
    return [one for *_, one in sorted(heap, key=lambda entry: entry[:2], reverse=True)]


def _weight(node: Node, places: dict[str, int]) -> float:
    def number(name: str) -> float:
        value = node.values[places[name]] if name in places else 0
        return float(value) if isinstance(value, int | float) else 0.0

    return number("in_degree") + 0.01 * number("out_degree") + number("links_in") + 0.5 * number("pages")


# ---- where -----------------------------------------------------------------------------------------------------


Place = tuple[float, float]


class _Cell(NamedTuple):
    """A part of the canvas."""

    x: float
    y: float
    width: float
    height: float


def _placed(count: int, edges: Sequence[tuple[int, int, int]]) -> list[Place]:
    """A place on the canvas for each node. Parts that no link joins, as sites often are, have each a cell of it."""
    import igraph

    pairs = Counter((min(source, target), max(source, target)) for source, target, _ in edges)
    graph = igraph.Graph(n=count, edges=list(pairs))
    graph.es["weight"] = [1.0 + 0.3 * math.log(number) for number in pairs.values()]
    parts = sorted(graph.connected_components(mode="weak"), key=lambda part: (-len(part), part[0]))
    canvas = _Cell(_LEFT, _TOP, WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM)
    places: list[Place] = [(0.0, 0.0)] * count
    for part, cell in zip(parts, _cells([len(part) ** 0.75 + 2 for part in parts], canvas), strict=True):
        if len(parts) > 1:
            cell = _within(cell)
        for node, place in zip(part, _fitted(_laid_out(graph.induced_subgraph(part)), cell), strict=True):
            places[node] = place
    return places


def _cells(weights: Sequence[float], cell: _Cell) -> list[_Cell]:
    """The cell cut into one for each weight, again and again along its longer side, each as large as its weight."""
    if len(weights) < 2:
        return [cell] * len(weights)
    total, half, first = sum(weights), 0.0, 0
    while first < len(weights) - 1 and (not first or half + weights[first] <= total / 2):
        half += weights[first]
        first += 1
    share = half / total
    x, y, width, height = cell
    if width >= height:
        cut = (_Cell(x, y, width * share, height), _Cell(x + width * share, y, width * (1 - share), height))
    else:
        cut = (_Cell(x, y, width, height * share), _Cell(x, y + height * share, width, height * (1 - share)))
    return [*_cells(weights[:first], cut[0]), *_cells(weights[first:], cut[1])]


def _within(cell: _Cell) -> _Cell:
    """The cell with a rim, so that its nodes and their names do not touch those of the next."""
    across, down = min(70.0, cell.width * 0.15), min(40.0, cell.height * 0.15)
    return _Cell(cell.x + across, cell.y + down, cell.width - 2 * across, cell.height - 2 * down)


def _laid_out(part: igraph.Graph) -> list[Place]:
    """Places by forces: links pull, nodes push."""
    import igraph

    count = part.vcount()
    chance = random.Random(1)
    igraph.set_random_number_generator(chance)
    start = [(chance.uniform(-1, 1), chance.uniform(-1, 1)) for _ in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layout = part.layout_fruchterman_reingold(weights="weight", niter=800, seed=start, grid=False)
    return [(x, y) for x, y in layout.coords]


def _fitted(places: list[Place], cell: _Cell) -> list[Place]:
    """The places stretched to the cell; the crowded middle is given more room than the empty rim."""
    middle = [sum(place[axis] for place in places) / len(places) for axis in (0, 1)]
    moved = []
    far = max(math.hypot(x - middle[0], y - middle[1]) for x, y in places) or 1.0
    for x, y in places:
        distance = math.hypot(x - middle[0], y - middle[1]) / far
        stretch = (distance**0.75) / distance if distance else 0.0
        moved.append(((x - middle[0]) * stretch, (y - middle[1]) * stretch))
    low = [min(place[axis] for place in moved) for axis in (0, 1)]
    span = [max(place[axis] for place in moved) - low[axis] for axis in (0, 1)]

    def fit(value: float, axis: int) -> float:
        offset, room = (cell.x, cell.width) if axis == 0 else (cell.y, cell.height)
        return round(offset + (room / 2 if not span[axis] else (value - low[axis]) / span[axis] * room), 1)

    return [(fit(x, 0), fit(y, 1)) for x, y in moved]


def _discs(chosen: Sequence[_Chosen], places: Sequence[tuple[float, float]], names: Sequence[str]) -> list[Disc]:
    most = max((one.weight for one in chosen), default=0.0) or 1.0
    discs = []
    for one, (x, y), name in zip(chosen, places, names, strict=True):
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(one.weight / most)
        color = one.node.look.color if one.node.look is not None else (90, 120, 160)
        url = one.node.label if one.node.label.startswith(("http://", "https://")) else ""
        discs.append(Disc(x, y, round(radius, 1), color, f"{name}\n{one.node.label}", url))
    return _apart(discs)


def _apart(discs: list[Disc]) -> list[Disc]:
    """The discs pushed from each other until none lies on another, or nearly so."""
    x, y = [disc.x for disc in discs], [disc.y for disc in discs]
    for _ in range(40):
        moved = False
        for one in range(len(discs)):
            for other in range(one):
                across, down = x[one] - x[other], y[one] - y[other]
                needed = discs[one].radius + discs[other].radius + 6
                if abs(across) >= needed or abs(down) >= needed:
                    continue
                distance = math.hypot(across, down)
                if distance < needed:
                    moved = True
                    push = (needed - distance) / 2
                    turn = (across / distance, down / distance) if distance else (1.0, 0.0)
                    x[one], y[one] = x[one] + turn[0] * push, y[one] + turn[1] * push
                    x[other], y[other] = x[other] - turn[0] * push, y[other] - turn[1] * push
        if not moved:
            break
    return [disc._replace(x=round(across, 1), y=round(down, 1)) for disc, across, down in zip(discs, x, y, strict=True)]


def _curves(discs: Sequence[Disc], edges: Sequence[tuple[int, int, int]]) -> list[Curve]:
    """Lines in the colour of their source, the fainter the more there are; they bend to the right of their way."""
    opacity = max(0.12, min(0.8, 120 / (len(edges) + 1) ** 0.8))
    arrows = len(edges) <= 400
    most = max((weight for *_, weight in edges), default=1)
    curves = []
    for source, target, weight in edges:
        one, other = discs[source], discs[target]
        across, down = other.x - one.x, other.y - one.y
        length = math.hypot(across, down) or 1.0
        bend = 0.12
        control = ((one.x + other.x) / 2 - down * bend, (one.y + other.y) / 2 + across * bend)
        back = (other.radius + 2) / length
        towards = (other.x - control[0], other.y - control[1])
        reach = math.hypot(*towards) or 1.0
        end = (other.x - towards[0] / reach * back * length, other.y - towards[1] / reach * back * length)
        strength = math.log1p(weight) / math.log1p(most) if most > 1 else 0.3
        width, fade = 0.8 + 3.2 * strength**2, 0.3 + 0.7 * strength**2
        curves.append(Curve((one.x, one.y), control, end, round(width, 2), one.color, round(opacity * fade, 3), arrows))
    return curves


# ---- words -----------------------------------------------------------------------------------------------------


def _names(graph: Graph, chosen: Sequence[_Chosen]) -> list[str]:
    """A short name for each node: what its title has of its own, else its path."""
    places = {field.name: place for place, field in enumerate(graph.fields)}
    if "title" not in places:
        return [_short(one.node.label) for one in chosen]
    titles = [str(one.node.values[places["title"]] or "") for one in chosen]
    parts = [_parts(title) for title in titles]
    often = Counter(part for several in parts for part in set(several))
    common = {part for part, number in often.items() if number > max(2, 0.3 * len(parts))}
    names = []
    for one, several in zip(chosen, parts, strict=True):
        own = [part for part in several if part not in common]
        names.append(_short(own[0] if own else _path(one.node.label) or (several[0] if several else one.node.label)))
    return names


def _parts(title: str) -> list[str]:
    parts = [" ".join(title.split())]
    for separator in _SEPARATORS:
        parts = [piece.strip() for part in parts for piece in part.split(separator)]
    return [part for part in parts if part]


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def _short(text: str) -> str:
    """At most so many characters, on one line; addresses with their letters as people write them."""
    text = shown(unquote(text) if "%" in text else text)
    return text if len(text) <= _NAME_LENGTH else text[: _NAME_LENGTH - 1] + "\u2026"


def width_of(text: str, size: float) -> float:
    """About how wide words are."""
    return size * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.56 for letter in text)


def _labels(discs: Sequence[Disc], names: Sequence[str]) -> list[Text]:
    """Names of as many nodes as find a free place, the most important first.

    Where all is crowded, the names of the largest discs stand on smaller ones, on as few as can be.
    """
    room = [_box(disc, 1.0 if len(discs) <= _ALL_NAMED or number < 25 else 0.75) for number, disc in enumerate(discs)]
    written: list[_Box] = []
    texts = []
    for number, name in enumerate(names):
        found = []
        for text, box in _label_places(discs[number], name, number):
            hidden = [place for place, other in enumerate(room) if place != number and _overlap(box, other)]
            may_hide = number < _ALWAYS_NAMED and all(place > number for place in hidden)
            if (may_hide or not hidden) and not any(_overlap(box, other) for other in written):
                found.append((len(hidden), text, box))
        for _, text, box in sorted(found, key=itemgetter(0))[:1]:
            written.append(box)
            texts.append(text)
    return texts


def _label_places(disc: Disc, name: str, number: int) -> Iterator[tuple[Text, _Box]]:
    """Where the name of a disc may stand, the best place first: below, right, left, above; a large one's also on it."""
    size = 17.0 if number < 5 else 14.0 if number < 25 else 12.0
    width = width_of(name, size)
    places = [
        ("middle", disc.x, disc.y + disc.radius + size),
        ("start", disc.x + disc.radius + 4, disc.y + size * 0.35),
        ("end", disc.x - disc.radius - 4, disc.y + size * 0.35),
        ("middle", disc.x, disc.y - disc.radius - 5),
    ]
    if number < _ALWAYS_NAMED:
        aside, up, down = disc.radius * 0.7 + 3, disc.y - disc.radius * 0.7 - 3, disc.y + disc.radius * 0.7 + size * 0.7
        places += [("start", disc.x + aside, up), ("end", disc.x - aside, up)]
        places += [("start", disc.x + aside, down), ("end", disc.x - aside, down)]
        places.append(("middle", disc.x, disc.y + size * 0.35))
    for anchor, x, y in places:
        left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        box = (left, y - size, left + width, y + size * 0.3)
        if box[0] > 4 and box[2] < WIDTH - 4 and box[1] > 104 and box[3] < HEIGHT - 50:
            yield Text(x, y, name, size, anchor, bold=number < 5, halo=True), box


def _box(disc: Disc, share: float) -> _Box:
    """The room that a disc takes, or a share of it."""
    reach = disc.radius * share
    return disc.x - reach, disc.y - reach, disc.x + reach, disc.y + reach


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _heading(graph: Graph, nodes: int, edges: int) -> list[Text]:
    """The name, how much there is, and what of it is shown."""
    told = graph.description
    if nodes < graph.node_count:
        told += f". Shown: the {nodes:,} with most links to them, and {counted(edges, 'edge')} between these"
    return [
        Text(40, 56, _short(graph.name), 34, bold=True),
        Text(40, 88, shown(told)[:170], 18, color=(90, 90, 90)),
    ]


def _legend(graph: Graph, chosen: Sequence[_Chosen]) -> list[Text]:
    """What colours and sizes mean."""
    sized = "The larger a disc, the more links lead to it. Lines have the colour of where they begin, and bend to the"
    texts = [Text(40, HEIGHT - 24, f"{sized} right on their way.", 14, color=(110, 110, 110))]
    groups = Counter(one.group for one in chosen if one.group)
    if len(groups) > 1:
        colors = {one.group: one.node.look.color for one in chosen if one.node.look is not None}
        x = 40.0
        for group, _ in groups.most_common(_LEGEND):
            name = _short(group)
            texts.append(Text(x, HEIGHT - 50, "\u25cf", 18, color=colors.get(group, (0, 0, 0))))
            texts.append(Text(x + 18, HEIGHT - 51, name, 14))
            x += 18 + width_of(name, 14) + 26
            if x > WIDTH - 260:
                break
    elif groups:
        depths = [field.name for field in graph.fields].index("depth")
        colors_by_depth = {one.node.values[depths]: one.node.look.color for one in chosen if one.node.look is not None}
        x = 40.0
        for depth in sorted(colors_by_depth, key=lambda value: int(str(value)))[:12]:
            words = "start" if depth == 0 else f"{depth} click{'s' if depth != 1 else ''}"
            texts.append(Text(x, HEIGHT - 50, "\u25cf", 18, color=colors_by_depth[depth]))
            texts.append(Text(x + 18, HEIGHT - 51, words, 14))
            x += 18 + width_of(words, 14) + 26
    return texts
