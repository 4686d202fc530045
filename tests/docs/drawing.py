"""The drawing of the parts in `docs/architecture.md`, made from the imports of the tree; `script/docs` writes it.

A line says that a part imports the one below. What follows from other lines is left out: who imports `agent` reaches
what `agent` stands on anyway. Surfaces are not drawn, since they may import any part.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean

from tests.import_law import PARTS, ROOF, Module, _part, _surface

TOP = "hub.py, host, cli, web …"
"""The roof as one box."""
INTEGRATIONS = "integrations"
WIDTH, BOX_HEIGHT, LAYER_HEIGHT, MARGIN = 760, 30, 62, 20
SIGN_WIDTH, PADDING = 8.2, 22
SWEEPS = 12
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#fff;text-anchor:middle;dominant-baseline:central}"
    "rect{fill:#2d6a8a;rx:6px}path{fill:none;stroke:#8a929c;stroke-width:1.4}"
)

Edges = dict[str, set[str]]
Point = tuple[float, float]


def drawing(modules: Mapping[str, Module]) -> str:
    """Return the drawing of a tree as SVG; it is readable on light and on dark."""
    edges = without_shortcuts(imports_between_parts(modules))
    lines, places = _laid_out(edges)
    height = max(y for _, y in places.values()) + BOX_HEIGHT / 2 + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}">'
    title = "<title>The parts of the hub, each above those that it imports</title>"
    paths = [_curve([places[each] for each in line]) for line in lines]
    boxes = [_box(name, places[name]) for name in sorted(edges)]
    return "\n".join([head, title, f"<style>{STYLE}</style>", *paths, *boxes, "</svg>"]) + "\n"


def imports_between_parts(modules: Mapping[str, Module]) -> Edges:
    """Return which parts each part imports, by their domain: their surfaces may import any."""
    edges: Edges = {}
    for module in modules.values():
        here = _box_of(module.name)
        if here is None or _surface(module.name):
            continue
        below = edges.setdefault(here, set())
        below |= {there for item in module.imports if (there := _box_of(item.target)) and there != here}
    return edges


def without_shortcuts(edges: Edges) -> Edges:
    """Return the edges that do not follow from others; there is no circle in them."""

    def reached(name: str) -> set[str]:
        return set().union(*({each} | reached(each) for each in edges.get(name, ())))

    return {name: below - set().union(*(reached(each) for each in below)) for name, below in edges.items()}


def _box_of(name: str) -> str | None:
    part = _part(name)
    if part in PARTS:
        return part
    return TOP if part in ROOF else INTEGRATIONS if part == INTEGRATIONS and name != INTEGRATIONS else None


def _laid_out(edges: Edges) -> tuple[list[list[str]], dict[str, Point]]:
    """Return each line as the names it passes, and the place of each name; a long line has one of its own a layer."""
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((deep(each) for each in edges[name]), default=-1)
        return depth[name]

    layers: list[list[str]] = [[] for _ in range(1 + max(map(deep, sorted(edges))))]
    for name in sorted(edges):
        layers[depth[name]].append(name)
    lines = []
    for name in sorted(edges):
        for below in sorted(edges[name]):
            between = [f"{name}/{below}/{layer}" for layer in range(depth[name] - 1, depth[below], -1)]
            for each in between:
                layers[int(each.rpartition("/")[2])].append(each)
            lines.append([name, *between, below])
    beside: dict[str, list[str]] = {}
    for line in lines:
        for one, other in pairwise(line):
            beside.setdefault(one, []).append(other)
            beside.setdefault(other, []).append(one)
    across = {name: WIDTH / 2 for layer in layers for name in layer}
    for _ in range(SWEEPS):
        for layer in layers:
            layer.sort(key=lambda name: (round(fmean(across[each] for each in beside.get(name, [name])), 3), name))
            across.update({name: WIDTH * (place + 1) / (len(layer) + 1) for place, name in enumerate(layer)})
    top = len(layers) - 1
    down = {
        name: MARGIN + BOX_HEIGHT / 2 + LAYER_HEIGHT * (top - at) for at, layer in enumerate(layers) for name in layer
    }
    return lines, {name: (across[name], down[name]) for name in across}


def _curve(points: list[Point]) -> str:
    drawn = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x, y), (next_x, next_y) in pairwise(points):
        middle = (y + next_y) / 2
        drawn += f" C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}"
    return f'<path d="{drawn}"/>'


def _box(name: str, place: Point) -> str:
    x, y = place
    width = SIGN_WIDTH * len(name) + PADDING
    corner = f'x="{x - width / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}"'
    return f'<rect {corner} width="{width:.0f}" height="{BOX_HEIGHT}"/><text x="{x:.0f}" y="{y:.0f}">{name}</text>'
