"""Tools of clients: parsed from each API's form, and their calls in that form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.models.answer_form import AnswerForm
from hub.models.chat_request import plain
from hub.models.contract import ToolCallBlock, ToolSpec
from hub.tools.json_check import check_schema

TOOLS_LIMIT = 128
CALL_PREFIX = "call_"
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_CALL = re.compile(r"^call_([0-9a-f]{32})_(\d{1,3})$")
_FREE = frozenset({None, "auto", "none"})


class ClientTools(Struct, frozen=True):
    """The tools that a client offers, and the one it requires (`RunRequest.tool_choice`)."""

    specs: tuple[ToolSpec, ...] = ()
    choice: str | None = None


def call_id(run_id: str, number: int) -> str:
    """Return the client's id of a call: it names the run that continues with the result."""
    return f"{CALL_PREFIX}{run_id}_{number}"


def run_of_call(id: str | None) -> str | None:
    """Return the run that made a call, by the client's id; None for a foreign id."""
    match = _CALL.match(id or "")
    return match[1] if match else None


def read_tools(given: Any, choice: Any) -> ClientTools:
    """Return the tools of a request of Chat Completions or of Responses.

    Args:
        given: Its `tools`.
        choice: Its `tool_choice`: a word, or an object that names a tool.

    Raises:
        InvalidRequest: One is malformed, or of an unsupported kind; or the choice names none of them.
    """
    if not isinstance(given or [], list) or len(given or []) > TOOLS_LIMIT:
        raise malformed("tools", f"expected a list of at most {TOOLS_LIMIT}")
    specs: dict[str, ToolSpec] = {}
    for index, tool in enumerate(given or []):
        spec = _spec(tool, f"tools[{index}]")
        if spec.name in specs:
            raise malformed(f"tools[{index}]", f"there is another tool of the name {spec.name}")
        specs[spec.name] = spec
    if isinstance(choice, Mapping):
        function = choice.get("function", choice)
        named = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(named, str) or named not in specs:
            raise malformed("tool_choice", "expected the name of one of the tools")
        return ClientTools(tuple(specs.values()), named)
    if choice in ("required", "any"):
        if not specs:
            raise malformed("tool_choice", "expected tools beside it; the request has none")
        return ClientTools(tuple(specs.values()), "required")
    if not isinstance(choice, str | None) or choice not in _FREE:
        raise malformed("tool_choice", "expected auto, none, required, or the name of a tool")
    return ClientTools() if choice == "none" else ClientTools(tuple(specs.values()))


def read_form(form: Any, place: str) -> AnswerForm | None:
    """Return the requested form of the answer; None for text.

    Args:
        form: Type, and for json_schema the name, the schema and `strict`.
        place: Its path, for errors.

    Raises:
        InvalidRequest: It is none that the hub knows.
    """
    kind = form.get("type", "text") if isinstance(form, Mapping) else None
    if form is None or kind == "text":
        return None
    if kind == "json_object":
        return AnswerForm()
    asked = form.get("json_schema", form) if kind == "json_schema" else None
    schema = asked.get("schema") if isinstance(asked, Mapping) else None
    if not isinstance(asked, Mapping) or not isinstance(schema, Mapping):
        raise malformed(place, "expected the type text, json_object, or json_schema with a schema")
    check_schema(schema)
    return AnswerForm(schema, str(asked.get("name") or "answer")[:64], asked.get("strict"))


def arguments_of(text: Any, place: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the arguments of an earlier call, and their text if they are not a JSON object."""
    if isinstance(text, Mapping):
        return text, None
    if not isinstance(text, str):
        raise malformed(place, "expected the arguments as JSON")
    try:
        value = orjson.loads(text or "{}")
    except ValueError:
        return {}, text
    return (value, None) if isinstance(value, dict) else ({}, text)


def arguments_text(call: ToolCallBlock) -> str:
    """Return the arguments of a call as JSON, or the model's raw text."""
    return call.malformed if call.malformed is not None else orjson.dumps(call.arguments, default=plain).decode()


def malformed(place: str, reason: str) -> InvalidRequest:
    """Return the error for a malformed part of a request."""
    return InvalidRequest(f"{place}: {reason}", details={"param": place})


def _spec(tool: Any, place: str) -> ToolSpec:
    if not isinstance(tool, Mapping):
        raise malformed(place, "expected an object")
    if tool.get("type", "function") != "function":
        kind = str(tool.get("type"))[:40]
        raise malformed(place, f"tools of the type {kind} are not supported; the hub's agents have their own")
    inner = tool.get("function", tool)
    told = inner if isinstance(inner, Mapping) else {}
    name, parameters = told.get("name"), told.get("parameters") or {}
    if not isinstance(name, str) or not _NAME.match(name):
        raise malformed(place, "expected a name of letters, digits, _ and -, at most 64")
    if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        raise malformed(place, "expected the parameters as a JSON Schema of type object")
    check_schema(parameters)
    shown = {"type": "object", "properties": {}, **parameters}
    return ToolSpec(name, str(told.get("description") or ""), shown)
