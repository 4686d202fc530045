"""The input of a model in one call of a run: instructions and tools, stored once for all runs, and the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

import orjson

from hub.agent.runs.replay import messages_up_to
from hub.agent.runs.run_timeline import RunWords
from hub.agent.runs.trace import TOOLS
from hub.models.contract import Block, Image, Message, Role, TextBlock, Thinking, ToolCallBlock
from hub.sessions.transcript import Transcript

TEXT_LIMIT = 20_000
"""Characters of one text; the transcript has the whole."""
MESSAGES_LIMIT = 400
OVERFLOWED = "CONTEXT_OVERFLOW"
"""A call that was made again with less: it said nothing."""


def calls_of(trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the model calls of a trace, in order."""
    return [step for step in trace.get("steps", ()) if step["kind"] == "model"]


def parts_of(trace: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the parts that each call was sent before the conversation: `{name, chars, piece}`."""
    found: Sequence[Mapping[str, Any]] = (trace.get("prompt") or {}).get("parts", ())
    return found


def instructions(trace: Mapping[str, Any], pieces: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of the system prompt and the tools.

    Args:
        trace: What `RunTrace.as_dict` returned.
        pieces: The words of the parts, by the names of their pieces.

    Returns:
        `system`: parts with `name`, `chars`, and `text`, which is None where it is not kept; `tools`: each with
        `name`, `description` and `parameters`.
    """
    parts = parts_of(trace)
    tools = next((pieces.get(each["piece"]) for each in parts if each["name"] == TOOLS), None)
    system = [
        {"name": each["name"], "chars": each["chars"], "text": pieces.get(each["piece"])}
        for each in parts
        if each["name"] != TOOLS
    ]
    return {"system": system, "tools": _tools(tools)}


def conversation(
    transcript: Transcript, run_id: str, calls: Sequence[Mapping[str, Any]], number: int, zone: tzinfo
) -> dict[str, Any]:
    """Return the messages that one call of a run was sent.

    Args:
        transcript: Where the run was.
        calls: The model calls of its trace.
        number: Which of them.

    Returns:
        `messages`: each with its `role` and `parts`; `leftOut`: how many earlier ones were not sent, or are not shown.
    """
    entries = transcript.entries()
    spoken = RunWords(entries, run_id).spoken
    place = sum(each["error"] != OVERFLOWED for each in calls[:number])
    own = [entry for entry in entries if entry.run_id == run_id and entry.message is not None]
    last = transcript.get(spoken[place].parent_id or "") if place < len(spoken) else own[-1] if own else None
    messages = messages_up_to(transcript, last, zone) if last is not None else ()
    shown = messages[-min(calls[number].get("messages") or MESSAGES_LIMIT, MESSAGES_LIMIT) :]
    return {"messages": [_message(each) for each in shown], "leftOut": len(messages) - len(shown)}


def _message(message: Message) -> dict[str, Any]:
    said = {"kind": "result" if message.role is Role.TOOL else "text", "name": message.tool_name or ""}
    text = [{**said, "text": _cut(message.text)}] if message.text else []
    others = [_part(block) for block in message.content if not isinstance(block, TextBlock)]
    return {"role": message.role.value, "parts": [*text, *others]}


def _part(block: Block) -> dict[str, str]:
    match block:
        case ToolCallBlock():
            written = block.malformed or orjson.dumps(dict(block.arguments), default=str).decode()
            return {"kind": "call", "name": block.name, "text": _cut(written)}
        case Image():
            return {"kind": "image", "name": "", "text": ""}
        case Thinking() | TextBlock():
            return {"kind": "thinking", "name": "", "text": _cut(block.text)}


def _tools(written: str | None) -> list[dict[str, Any]]:
    if written is None:
        return []
    try:
        found: list[dict[str, Any]] = orjson.loads(written)
    except orjson.JSONDecodeError:  # too long to be kept whole
        return [{"name": TOOLS, "description": _cut(written), "parameters": {}}]
    return found


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"
