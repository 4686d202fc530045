"""A2UI 0.8: the messages that make surfaces, checked, and the surfaces as they are now. Pure.

The format is that of https://a2ui.org/specification/v0_8: one JSON object a line, each with one of `surfaceUpdate`,
`beginRendering`, `dataModelUpdate` and `deleteSurface`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from hub.core.errors import InvalidRequest, LimitExceeded, NotFound
from hub.core.schema import (
    All,
    AnyOf,
    Invalid,
    Length,
    Match,
    Optional,
    Required,
    Schema,
    boolean,
    describe_error,
    string,
)

TEXT_LIMIT = 262_144
"""Characters of what is pushed at once."""
SURFACES_LIMIT = 8
COMPONENTS_LIMIT = 500
DATA_LIMIT = 131_072
"""Bytes of the data of a surface."""
DEPTH_LIMIT = 12
VALUES_LIMIT = 4_000
"""Characters of what a press brings with it."""

COMPONENTS = frozenset(
    {
        *("Text", "Image", "Icon", "Divider", "Row", "Column", "List", "Card", "Tabs", "Modal"),
        *("Button", "CheckBox", "TextField", "DateTimeInput", "MultipleChoice", "Slider"),
    }
)

_ID = All(string, Match(r"^[A-Za-z0-9_.:-]{1,100}$"))
_NUMBER = AnyOf(int, float)
_ENTRY = {
    Required("key"): All(string, Length(min=1, max=100)),
    Optional("valueString"): string,
    Optional("valueNumber"): _NUMBER,
    Optional("valueBoolean"): boolean,
    Optional("valueMap"): list,
}
_MESSAGES: Mapping[str, Schema] = {
    "surfaceUpdate": Schema(
        {
            Required("surfaceId"): _ID,
            Required("components"): All(
                [{Required("id"): _ID, Optional("weight"): _NUMBER, Required("component"): dict}],
                Length(min=1, max=COMPONENTS_LIMIT),
            ),
        }
    ),
    "beginRendering": Schema(
        {
            Required("surfaceId"): _ID,
            Required("root"): _ID,
            Optional("catalogId"): string,
            Optional("styles"): dict,
        }
    ),
    "dataModelUpdate": Schema(
        {Required("surfaceId"): _ID, Optional("path", default="/"): string, Required("contents"): list}
    ),
    "deleteSurface": Schema({Required("surfaceId"): _ID}),
}
_ENTRIES = Schema([_ENTRY])


@dataclass
class Surface:
    """A surface as it is now.

    Attributes:
        session: The conversation that shows it, to which presses go.
        tainted: Whether words from outside were in that conversation when it was pushed.
        data_version: Grows when the agent sets data, which then replaces a person's input.
    """

    id: str
    session: str
    tainted: bool = False
    root: str | None = None
    components: dict[str, dict[str, Any]] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    data_version: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The surface as a tab draws it."""
        return {
            "id": self.id,
            "root": self.root,
            "components": self.components,
            "data": self.data,
            "data_version": self.data_version,
        }


Surfaces = dict[str, Surface]


def read_messages(jsonl: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the messages of a text: kind and content.

    Raises:
        InvalidRequest: A line is not a message of A2UI 0.8; the error names the line.
    """
    if len(jsonl) > TEXT_LIMIT:
        raise InvalidRequest(f"jsonl: expected at most {TEXT_LIMIT} characters")
    found = []
    for number, line in enumerate(jsonl.splitlines(), 1):
        if line.strip():
            found.append(_message(number, line))
    if not found:
        raise InvalidRequest("jsonl: expected at least one message")
    return found


def apply(surfaces: Surfaces, messages: list[tuple[str, dict[str, Any]]], session: str, *, tainted: bool) -> Surfaces:
    """Return the surfaces after these messages; the given ones stay as they are.

    Raises:
        InvalidRequest: A path of data leads nowhere.
        LimitExceeded: There would be too many surfaces or components, or too much data.
    """
    after = {id: _copy(each) for id, each in surfaces.items()}
    for kind, content in messages:
        id = content["surfaceId"]
        if kind == "deleteSurface":
            after.pop(id, None)
            continue
        surface = after.setdefault(id, Surface(id, session))
        surface.session, surface.tainted = session, surface.tainted or tainted
        if kind == "beginRendering":
            surface.root = content["root"]
        elif kind == "surfaceUpdate":
            surface.components.update({each["id"]: each for each in content["components"]})
        else:
            surface.data = _with(surface.data, content["path"], _data(content["contents"]))
            surface.data_version += 1
        _check_bounds(after, surface)
    return after


def press_message(surface: Surface, component: str, values: Mapping[str, Any]) -> str:
    """Return the message of somebody who pressed a button: its name, and what its action refers to.

    Args:
        values: The values of its context's paths in that person's tab.

    Raises:
        NotFound: There is no such button.
        InvalidRequest: The values are too long.
    """
    found = surface.components.get(component, {}).get("component", {}).get("Button")
    if not isinstance(found, dict) or not isinstance(found.get("action"), dict):
        raise NotFound(f"the surface {surface.id} has no button {component}")
    action = found["action"]
    context = {}
    for entry in action.get("context") or ():
        if isinstance(entry, dict) and isinstance(entry.get("value"), dict):
            literal = next((value for name, value in entry["value"].items() if name.startswith("literal")), None)
            context[str(entry.get("key"))] = literal if literal is not None else values.get(str(entry.get("key")))
    told = {
        "name": str(action.get("name")),
        "surfaceId": surface.id,
        "sourceComponentId": component,
        "context": context,
    }
    try:
        text = orjson.dumps({"userAction": told}).decode()
    except TypeError as error:
        raise InvalidRequest("values: the input is nested too deeply") from error
    if len(text) > VALUES_LIMIT:
        raise InvalidRequest(f"the input has more than {VALUES_LIMIT} characters")
    return f"Pressed a button on the canvas: {text}"


def _message(number: int, line: str) -> tuple[str, dict[str, Any]]:
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"jsonl line {number}: this is not JSON: {error}") from error
    if not isinstance(message, dict) or len(message) != 1 or next(iter(message)) not in _MESSAGES:
        raise InvalidRequest(f"jsonl line {number}: expected an object with one of {', '.join(_MESSAGES)} (A2UI 0.8)")
    ((kind, content),) = message.items()
    try:
        valid: dict[str, Any] = _MESSAGES[kind](content)
    except Invalid as error:
        raise InvalidRequest(f"jsonl line {number}, {kind}: {describe_error(error)}") from error
    for each in valid.get("components", ()):
        names = list(each["component"])
        if len(names) != 1 or names[0] not in COMPONENTS or not isinstance(each["component"][names[0]], dict):
            known = ", ".join(sorted(COMPONENTS))
            raise InvalidRequest(f"jsonl line {number}, component {each['id']}: expected one of {known}")
        if each["component"][names[0]].get("textFieldType") == "obscured":
            raise InvalidRequest(f"jsonl line {number}, component {each['id']}: a secret is asked for with ask_secret")
    return kind, valid


def _data(contents: Any, depth: int = 0) -> dict[str, Any]:
    if depth > DEPTH_LIMIT:
        raise InvalidRequest(f"contents: expected at most {DEPTH_LIMIT} levels")
    try:
        entries = _ENTRIES(contents)
    except Invalid as error:
        raise InvalidRequest(f"contents: {describe_error(error)}") from error
    return dict(_values(entries, depth))


def _values(entries: list[dict[str, Any]], depth: int) -> Iterator[tuple[str, Any]]:
    for entry in entries:
        values = [name for name in entry if name != "key"]
        if len(values) != 1:
            raise InvalidRequest(f"contents: expected one value for {entry['key']}")
        value = entry[values[0]]
        yield entry["key"], _data(value, depth + 1) if values[0] == "valueMap" else value


def _with(data: dict[str, Any], path: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return data with a value at a path such as `/user/name`."""
    names = [each for each in path.split("/") if each]
    if len(names) > DEPTH_LIMIT:
        raise InvalidRequest(f"path: expected at most {DEPTH_LIMIT} names")
    if not names:
        return value
    inner = data.get(names[0])
    return {**data, names[0]: _with(inner if isinstance(inner, dict) else {}, "/".join(names[1:]), value)}


def _copy(surface: Surface) -> Surface:
    return Surface(
        surface.id,
        surface.session,
        surface.tainted,
        surface.root,
        dict(surface.components),
        surface.data,
        surface.data_version,
    )


def _check_bounds(surfaces: Surfaces, surface: Surface) -> None:
    if len(surfaces) > SURFACES_LIMIT:
        raise LimitExceeded(f"at most {SURFACES_LIMIT} surfaces are shown; delete one")
    if len(surface.components) > COMPONENTS_LIMIT:
        raise LimitExceeded(f"the surface {surface.id} has more than {COMPONENTS_LIMIT} components")
    if len(orjson.dumps(surface.data)) > DATA_LIMIT:
        raise LimitExceeded(f"the data of the surface {surface.id} have more than {DATA_LIMIT} bytes")
