"""The graph of a trace: boxes for triggers, conditions and steps, laid out from top to bottom, reached ones lit.

Pure: a configuration and the entries of a trace in, boxes and lines with coordinates out. The page draws them as SVG
and shows the same boxes as a nested list to those who do not see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import span_of
from hub.core.phrases import Phrase, phrase
from web.automations.card_words import clause_of
from web.automations.form_kinds import ACTION, CONDITION, TRIGGER
from web.automations.form_texts import KIND_NAMES

WIDTH = 236
HEIGHT = 44
GAP_X = 20
GAP_Y = 28
NODES_LIMIT = 1_000
"""Boxes of one graph; what comes behind is left to the list of steps."""

DONE, RUNNING, FAILED, REFUSED, UNREACHED = "done", "running", "failed", "refused", "unreached"
"""States of a box: done, running, failed, condition not met, not reached."""

FORKS = frozenset({"if", "choose", "parallel", "repeat", "sequence"})
"""Steps that are drawn as the boxes in them."""

Steps = Mapping[str, Sequence[Mapping[str, Any]]]


class Box(Struct):
    """One box; `x` and `y` are of its upper left corner.

    Attributes:
        path: Its place in the trace.
        kind: trigger, condition, or the key of a step.
        count: How often it was executed.
        depth: How far inside other boxes it is.
    """

    path: str
    kind: str
    label: str
    state: str
    count: int = 0
    depth: int = 0
    x: float = 0.0
    y: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The box as templates and JSON see it."""
        return {
            "path": self.path,
            "id": step_id(self.path),
            "kind": self.kind,
            "label": self.label,
            "state": self.state,
            "count": self.count,
            "depth": self.depth,
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "width": WIDTH,
            "height": HEIGHT,
        }


class GraphLine(Struct, frozen=True):
    """A line from one point to another; lit when the run took it."""

    x1: float
    y1: float
    x2: float
    y2: float
    lit: bool

    def as_dict(self) -> dict[str, Any]:
        """The line as a path of SVG: down, across, down."""
        middle = (self.y1 + self.y2) / 2
        bend = "" if self.x1 == self.x2 else f" V{middle:.1f} H{self.x2:.1f}"
        return {"d": f"M{self.x1:.1f} {self.y1:.1f}{bend} V{self.y2:.1f}", "lit": self.lit}


class Graph(Struct):
    """Boxes and lines on a sheet of a size."""

    boxes: list[Box] = field(default_factory=list)
    lines: list[GraphLine] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    truncated: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The graph as templates and JSON see it."""
        return {
            "boxes": [box.as_dict() for box in self.boxes],
            "lines": [line.as_dict() for line in sorted(self.lines, key=lambda line: line.lit)],
            "width": round(self.width, 1),
            "height": round(self.height, 1),
            "truncated": self.truncated,
        }


def graph_of(config: Mapping[str, Any], steps: Steps, fired: str | None) -> Graph:
    """Return the graph of a run.

    Args:
        config: What ran: an automation with triggers, conditions and actions, or a script with a sequence.
        steps: The entries of its trace by path.
        fired: The index of the trigger that set it off; None when none did.
    """
    drawing = _Drawing(steps)
    parts: list[_Part] = []
    triggers = [each for each in config.get("triggers") or () if isinstance(each, Mapping)]
    if triggers:
        parts.append(_Fork([drawing.trigger(each, index, fired) for index, each in enumerate(triggers)], top=True))
    for index, each in enumerate(_list(config.get("conditions"))):
        parts.append(drawing.condition(each, f"condition/{index}"))
    for key, place in (("actions", "action"), ("sequence", "sequence")):
        if key in config:
            parts += drawing.sequence(config[key], place, 0)
    whole = _Column(parts)
    graph = Graph(width=whole.width + GAP_X, truncated=drawing.truncated)
    graph.height = whole.place(GAP_X / 2, GAP_Y / 2, graph) + GAP_Y / 2
    return graph


def step_id(path: str) -> str:
    """Return the id of the element that describes a step."""
    return "step-" + path.replace("/", "-")


def state_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return whether a step that has not failed is done or running: then its last entry has no duration yet."""
    return RUNNING if entries and entries[-1].get("duration_ms", 0) is None else DONE


def verdict_of(entries: Sequence[Mapping[str, Any]]) -> bool | None:
    """Return whether a condition was met in its last entry; None when unknown."""
    for entry in reversed(entries):
        result = entry.get("result")
        if isinstance(result, Mapping) and isinstance(result.get("holds"), bool):
            return bool(result["holds"])
    return None


# --- what is drawn ---


class _Drawing:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._count = 0
        self.truncated = False

    def trigger(self, config: Mapping[str, Any], index: int, fired: str | None) -> _Part:
        place = str(config.get("index", index))
        kind = str(config.get("trigger") or "trigger")
        state = DONE if fired == place else UNREACHED
        return _Single(Box(f"trigger/{place}", kind, _label(config, kind, TRIGGER), state, int(fired == place)))

    def condition(self, config: Any, path: str, depth: int = 0) -> _Part:
        kind = str(config.get("condition") or "condition") if isinstance(config, Mapping) else "template"
        return _Single(self._box(path, kind, _label(config, kind, CONDITION), depth))

    def sequence(self, steps: Any, path: str, depth: int) -> list[_Part]:
        return [self.step(each, f"{path}/{index}", depth) for index, each in enumerate(_list(steps))]

    def step(self, config: Any, path: str, depth: int) -> _Part:
        if not isinstance(config, Mapping) or self._count >= NODES_LIMIT:
            self.truncated = self.truncated or self._count >= NODES_LIMIT
            return _Single(self._box(path, "…", "…", depth))
        key = kinds_in_use().step_key(config) or "step"
        head = _Single(self._box(path, key, _label(config, key, "" if key in FORKS else ACTION), depth))
        inner = depth + 1
        match key:
            case "if":
                tests = self._conditions(config["if"], f"{path}/if/condition", inner)
                ways = [
                    _Column(tests + self.sequence(config.get("then"), f"{path}/then", inner)),
                    _Column(self.sequence(config.get("else"), f"{path}/else", inner)),
                ]
                return _Column([head, _Fork(ways)])
            case "choose":
                ways = [
                    _Column(self._option(option, f"{path}/choose/{index}", inner))
                    for index, option in enumerate(_list(config.get("choose")))
                ]
                ways.append(_Column(self.sequence(config.get("default"), f"{path}/default", inner)))
                return _Column([head, _Fork(ways)])
            case "parallel":
                ways = [
                    _Column(self._branch(branch, f"{path}/parallel/{index}", inner))
                    for index, branch in enumerate(_list(config.get("parallel")))
                ]
                return _Column([head, _Fork(ways)])
            case "repeat":
                repeat = config["repeat"] if isinstance(config["repeat"], Mapping) else {}
                parts = self._conditions(repeat.get("while"), f"{path}/repeat/while", inner)
                parts += self.sequence(repeat.get("sequence"), f"{path}/repeat/sequence", inner)
                parts += self._conditions(repeat.get("until"), f"{path}/repeat/until", inner)
                return _Column([head, _Column(parts)])
            case "sequence":
                return _Column([head, *self.sequence(config["sequence"], f"{path}/sequence", inner)])
            case _:
                return head

    def _option(self, option: Any, path: str, depth: int) -> list[_Part]:
        if not isinstance(option, Mapping):
            return []
        head = _Single(
            self._box(
                path,
                "option",
                option.get("alias") or phrase("option {number}", number=int(path.rpartition("/")[2]) + 1),
                depth,
            )
        )
        tests = self._conditions(option.get("conditions"), f"{path}/conditions", depth)
        return [head, *tests, *self.sequence(option.get("sequence"), f"{path}/sequence", depth)]

    def _branch(self, branch: Any, path: str, depth: int) -> list[_Part]:
        steps = branch.get("sequence") if isinstance(branch, Mapping) else branch
        return self.sequence(steps, f"{path}/sequence", depth)

    def _conditions(self, conditions: Any, path: str, depth: int) -> list[_Part]:
        return [self.condition(each, f"{path}/{index}", depth) for index, each in enumerate(_list(conditions))]

    def _box(self, path: str, kind: str, label: str, depth: int) -> Box:
        self._count += 1
        entries = self._steps.get(path) or ()
        state = UNREACHED
        if entries:
            failed = any(entry.get("error") for entry in entries)
            state = FAILED if failed else REFUSED if verdict_of(entries) is False else state_of(entries)
        count = sum(1 + int(entry.get("skipped") or 0) for entry in entries)
        return Box(path, kind, label, state, count, depth)


# --- where it is drawn ---


class _Part(Protocol):
    """Something with a size that a line enters in the middle of its top and leaves in the middle of its bottom."""

    width: float
    lit: bool
    passed: bool
    """Whether the run went on behind it."""

    def place(self, x: float, y: float, graph: Graph) -> float:
        """Draw it with its upper left corner there; return where it ends."""
        ...


class _Single:
    def __init__(self, box: Box) -> None:
        self._box = box
        self.width: float = WIDTH
        self.lit = box.state != UNREACHED
        self.passed = box.state in (DONE, FAILED, RUNNING)

    def place(self, x: float, y: float, graph: Graph) -> float:
        self._box.x, self._box.y = x, y
        graph.boxes.append(self._box)
        return y + HEIGHT


class _Column:
    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self.width = max((part.width for part in parts), default=WIDTH / 2)
        self.lit = any(part.lit for part in parts)
        self.passed = bool(parts) and parts[-1].passed

    def place(self, x: float, y: float, graph: Graph) -> float:
        middle = x + self.width / 2
        for index, part in enumerate(self._parts):
            if index:
                if not isinstance(part, _Fork):
                    lit = self._parts[index - 1].lit and part.lit
                    graph.lines.append(GraphLine(middle, y, middle, y + GAP_Y, lit))
                y += GAP_Y
            y = part.place(middle - part.width / 2, y, graph)
        return y


class _Fork:
    """Parallel branches, which a line splits into and joins again."""

    def __init__(self, ways: Sequence[_Part], *, top: bool = False) -> None:
        self._ways = ways
        self._top = top
        self.width = sum(way.width for way in ways) + GAP_X * max(0, len(ways) - 1)
        self.lit = any(way.lit for way in ways) or top
        self.passed = any(way.passed for way in ways)

    def place(self, x: float, y: float, graph: Graph) -> float:
        middle = x + self.width / 2
        top = y if self._top else y + GAP_Y / 2
        ends: list[tuple[float, float, bool]] = []
        for way in self._ways:
            centre = x + way.width / 2
            if not self._top:
                graph.lines.append(GraphLine(middle, y - GAP_Y, centre, top, way.lit))
            ends.append((centre, way.place(x, top, graph), way.passed))
            x += way.width + GAP_X
        bottom = max((end for _, end, _ in ends), default=y) + GAP_Y / 2
        for centre, end, lit in ends:
            graph.lines.append(GraphLine(centre, end, middle, bottom, lit))
        return bottom


def _label(config: Any, kind: str, what: str) -> str:
    """Return the name of a box, else its words; what is made of other boxes has the name of its kind."""
    if isinstance(config, Mapping) and config.get("alias"):
        return str(config["alias"])
    if said := clause_of(what, config):
        return said
    name = Phrase(KIND_NAMES[kind], KIND_NAMES[kind]) if kind in KIND_NAMES else kind
    if not isinstance(config, Mapping):
        return name
    value = config.get(kind)
    if kind == "action":
        return str(value)
    if kind in {"event", "delay", "stop", "wait_template"} and isinstance(value, (str, int, float)):
        return phrase("{said}: {reason}", said=name, reason=span_of(value) if kind == "delay" else value)
    entity = config.get("entity_id")
    if isinstance(entity, list) and entity:
        entity = entity[0]
    return phrase("{said}: {reason}", said=name, reason=entity) if isinstance(entity, str) else name


def _list(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, (list, tuple)) else (value,)
