"""One happening whole: its facts, lanes on one axis, steps as sentences, and why. What all kinds have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.timeline.happening import Cause, Happening, text_field


class Step(Struct, frozen=True):
    """One sentence of what happened.

    Attributes:
        kind: message | model | tool | condition | action | approval | send | device | note.
        icon: A further word for its picture, such as the kind of tool.
        title, detail: In plain words.
        tone: `good`, `bad`, or None.
        data: What a reader may open: arguments, result, text, values.
    """

    at_ms: int
    kind: str
    title: str
    detail: str | None = None
    icon: str | None = None
    duration_ms: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    tone: str | None = None
    data: Mapping[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return it as a client sees it."""
        return {
            "at": self.at_ms,
            "kind": self.kind,
            "icon": self.icon,
            **text_field("title", self.title),
            **text_field("detail", self.detail),
            "durationMs": self.duration_ms,
            "tokens": self.tokens,
            "costUsd": self.cost_usd,
            "tone": self.tone,
            "data": {key: value for key, value in self.data.items() if value is not None},
        }


class Lane(Struct, frozen=True):
    """A bar on the common axis: from when, how long, and what it was (queue, model, tool, wait, action, send)."""

    label: str
    kind: str
    at_ms: float
    duration_ms: float
    tokens: int | None = None
    step: int | None = None

    def as_dict(self, begin_ms: float) -> dict[str, Any]:
        """Return it as a client sees it; `startMs` counts from the begin of the axis."""
        return {
            **text_field("label", self.label),
            "kind": self.kind,
            "startMs": round(self.at_ms - begin_ms, 1),
            "durationMs": round(self.duration_ms, 1),
            "tokens": self.tokens,
            "step": self.step,
        }


class Condition(Struct, frozen=True):
    """A condition that was asked: whether it held, and the values that decided."""

    path: str
    holds: bool | None
    reason: str | None
    title: str | None = None
    values: Mapping[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return it as a client sees it."""
        shown = {"path": self.path, "holds": self.holds, "values": dict(self.values)}
        return {**shown, **text_field("title", self.title), **text_field("reason", self.reason)}


class Detail(Struct):
    """One happening.

    Attributes:
        row: Its row of the list.
        facts: Numbers about it, by their name.
        actions: What its reader may do: the name of it, a method and its parameters.
        trace: Where more of it is: the method and the id for which `homarus trace` and the graph ask.
    """

    row: Happening
    facts: dict[str, Any] = field(default_factory=dict)
    lanes: Sequence[Lane] = ()
    steps: Sequence[Step] = ()
    conditions: Sequence[Condition] = ()
    actions: Sequence[Mapping[str, Any]] = ()
    trace: Mapping[str, str] | None = None

    def as_dict(self, name_of: Mapping[str, str]) -> dict[str, Any]:
        """Return it as a client sees it; of what did not run the condition that did not hold comes first."""
        row = self.row
        own = next((at for at, each in enumerate(row.causes) if each.is_self), 0)
        by: Sequence[Cause] = row.causes[:own]
        caused = row.causes[own + 1 :]
        begin = min((each.at_ms for each in self.lanes), default=float(row.at_ms))
        end = max((each.at_ms + each.duration_ms for each in self.lanes), default=begin)
        asked = sorted(self.conditions, key=lambda each: each.holds is not False)
        return {
            "happening": row.as_dict(name_of),
            "facts": self.facts,
            "axis": {"begin": round(begin), "lengthMs": round(end - begin, 1)},
            "lanes": [each.as_dict(begin) for each in self.lanes],
            "steps": [each.as_dict() for each in self.steps],
            "why": {
                "causedBy": [each.as_dict() for each in by],
                "caused": [each.as_dict() for each in caused],
                **text_field("reason", row.reason),
                "reasonCode": row.reason_code,
                "conditions": [each.as_dict() for each in asked],
            },
            "actions": [dict(each) for each in self.actions],
            "trace": self.trace,
        }
