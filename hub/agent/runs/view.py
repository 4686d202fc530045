"""The visible state of a run: its events folded into text and parts, in order. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PARTS_LIMIT = 2_000
"""Parts of one run; what comes after is in its transcript only."""


@dataclass(slots=True)
class ViewPart:
    """A piece of a run: text, thinking, a tool call, or a summary of what was before.

    Attributes:
        kind: text | thinking | tool | compaction.
        text: What was said or thought so far; how many messages were summarised, empty while they are.
        call_id, name, arguments: Properties of a tool call.
        update: Its partial result while it runs.
        waits: Whether it waits for an approval.
        output: Its result; None while it runs.
        is_error: Whether it failed.
    """

    kind: str
    text: str = ""
    call_id: str = ""
    name: str = ""
    arguments: Any = None
    update: str = ""
    waits: bool = False
    output: str | None = None
    is_error: bool = False


class RunView:
    """The state of a run so far.

    Attributes:
        run_id, session_key: Which run, and where.
        text: All that the model said.
        parts: Its parts.
        status: running, and then how it ended: ok | aborted | error | timeout.
        error: `{code, message}` of a run that failed.
    """

    __slots__ = ("_open", "error", "parts", "run_id", "session_key", "status", "text")

    def __init__(self, run_id: str, session_key: str) -> None:
        self.run_id = run_id
        self.session_key = session_key
        self.text = ""
        self.parts: list[ViewPart] = []
        self.status = "running"
        self.error: Mapping[str, Any] = {}
        self._open: ViewPart | None = None

    def apply(self, type: str, data: Mapping[str, Any]) -> int | None:
        """Apply one event of the run; return the index of the changed part, or None."""
        match type:
            case "run_delta":
                self.text += data["text"]
                return self._say("text", data["text"])
            case "run_thinking":
                return self._say("thinking", data["text"])
            case "run_tool_started":
                return self._begin(data)
            case "run_tool_updated":
                return self._update(data)
            case "run_tool_finished":
                return self._end(data)
            case "compaction_started":
                self._open = None
                return None if self._add(ViewPart("compaction")) is None else len(self.parts) - 1
            case "compaction_finished":
                return self._summarised(data)
            case "run_finished" | "run_settled":
                self.status = data.get("status", "error")
                self.error = data.get("error") or {}
        return None

    def _say(self, kind: str, text: str) -> int | None:
        part = self._open
        if part is None or part.kind != kind:
            part = self._open = self._add(ViewPart(kind))
            if part is None:
                return None
        part.text += text
        return len(self.parts) - 1

    def _begin(self, data: Mapping[str, Any]) -> int | None:
        self._open = None
        if self._call(data["call_id"]) is not None:
            return None
        part = ViewPart("tool", call_id=data["call_id"], name=data["name"], arguments=data.get("arguments"))
        return None if self._add(part) is None else len(self.parts) - 1

    def _update(self, data: Mapping[str, Any]) -> int | None:
        index = self._call(data["call_id"])
        if index is None or self.parts[index].output is not None:
            return None
        self.parts[index].update = str(data.get("output") or "")
        self.parts[index].waits = bool(data.get("waits"))
        return index

    def _summarised(self, data: Mapping[str, Any]) -> int | None:
        index = next((at for at, part in enumerate(self.parts) if part.kind == "compaction" and not part.text), None)
        if index is not None:
            self.parts[index].text = str(data.get("messages") or 0)
            self.parts[index].is_error = "error" in data
        return index

    def _end(self, data: Mapping[str, Any]) -> int | None:
        self._open = None
        index = self._call(data["call_id"])
        if index is not None:
            self.parts[index].output = str(data.get("output") or "")
            self.parts[index].is_error = bool(data.get("is_error"))
        return index

    def _call(self, call_id: str) -> int | None:
        return next((at for at, part in enumerate(self.parts) if part.kind == "tool" and part.call_id == call_id), None)

    def _add(self, part: ViewPart) -> ViewPart | None:
        if len(self.parts) >= PARTS_LIMIT:
            return None
        self.parts.append(part)
        return part
