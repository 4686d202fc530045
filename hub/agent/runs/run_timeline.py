"""A run from the message to the reply, step by step: its trace, its transcript and its rows put together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from hub.agent.runs.run_rows import RunSurroundings, StoredRun
from hub.agent.runs.trace import STEPS_LIMIT
from hub.models.contract import Message, Role, ToolCallBlock
from hub.sessions.entry import TranscriptEntry, user_entry_id

TEXT_LIMIT = 4_000
"""Characters of one text of a step; the transcript has the whole."""

Step = dict[str, Any]

_WIRE = {"at_ms": "at", "duration_ms": "durationMs", "first_ms": "firstMs", "prompt_tokens": "promptTokens"}
_WIRE |= {"is_error": "isError", "tokens_before": "tokensBefore", "tokens_after": "tokensAfter"}


class RunWords:
    """The words of a run, taken in the order in which they were said.

    Args:
        entries: The entries of the run's transcript, oldest first.
        run_id: The run.
        deleted: Whether its conversation was deleted: then nothing of it is shown.
    """

    def __init__(self, entries: Iterable[TranscriptEntry], run_id: str, *, deleted: bool = False) -> None:
        self.deleted = deleted
        self.entries: list[tuple[TranscriptEntry, Message]] = []
        self.spoken: list[TranscriptEntry] = []
        self.results: list[TranscriptEntry] = []
        self.calls: list[ToolCallBlock] = []
        self.heard: dict[str | None, str] = {}
        for entry in entries:
            message = entry.message
            if entry.run_id != run_id or message is None:
                continue
            self.entries.append((entry, message))
            match message.role:
                case Role.ASSISTANT:
                    self.spoken.append(entry)
                    self.calls += message.tool_calls
                case Role.TOOL:
                    self.results.append(entry)
                case Role.USER if entry.id == user_entry_id(run_id) or entry.inbox_id is not None:
                    self.heard.setdefault(entry.inbox_id, message.text)

    def take_call(self, call_id: str) -> Step:
        """Return input and output of the next call with this id."""
        call = next((each for each in self.calls if each.id == call_id), None)
        if call is not None:
            self.calls.remove(call)
        found = next((each for each in self.results if each.message and each.message.tool_call_id == call_id), None)
        if found is not None:
            self.results.remove(found)
        return {
            "input": None if call is None else _cut(_written(call)),
            "output": None if found is None or found.message is None else _cut(found.message.text),
        }

    def take_spoken(self) -> TranscriptEntry | None:
        """Return the next entry that a model said."""
        return self.spoken.pop(0) if self.spoken else None


def timeline(run: StoredRun, trace: Mapping[str, Any] | None, words: RunWords, around: RunSurroundings) -> list[Step]:
    """Return the steps of a run, oldest first; times in milliseconds since the epoch.

    Args:
        run: Its row.
        trace: The result of `RunTrace.as_dict`; None when it is no longer kept.
        words: The words of the conversation; empty when it is no longer kept.
        around: Its received, asked and sent records.
    """
    received = [{"kind": "received", **each, "text": _cut(words.heard.get(each["id"], ""))} for each in around.received]
    if not received:
        received = [{"kind": "received", "at": run.created_ms, "text": _cut(next(iter(words.heard.values()), ""))}]
    traced = trace.get("steps") or () if trace is not None else list(_remembered(words))
    steps = [_told(each, words) for each in traced]
    approvals = _approvals(around.approvals, steps)
    queued = (
        []
        if run.started_ms is None
        else [{"kind": "queued", "at": run.created_ms, "durationMs": max(0, run.started_ms - run.created_ms)}]
    )
    sent = [
        {
            "kind": "sent",
            **{name: value for name, value in each.items() if name not in ("updatedAt", "kind")},
            "what": each["kind"],
            "text": "" if words.deleted else _cut(each["text"] or ""),
            "durationMs": max(0, each["updatedAt"] - each["at"]) if each["state"] == "sent" else None,
        }
        for each in around.sent
    ]
    return [*received, *queued, *sorted([*steps, *approvals], key=lambda step: step["at"]), *sent]


def _told(traced: Mapping[str, Any], words: RunWords) -> Step:
    """Return a trace step in the protocol's shape, with the words said in it."""
    step: Step = {_WIRE.get(name, name): value for name, value in traced.items() if name != "sent_bytes"}
    match step["kind"]:
        case "model":
            said = words.take_spoken() if step["error"] != "CONTEXT_OVERFLOW" else None
            sent = sum(traced.get("sent_bytes") or ()) or None
            return step | {"sentBytes": sent} | _said(said.message if said is not None else None)
        case "tool":
            return step | words.take_call(step.pop("call_id"))
        case "steered":
            return step | {"text": _cut(words.heard.get(step.pop("inbox_id", None), ""))}
    return {"model": "", "usage": None, "error": None, **step}


def _remembered(words: RunWords) -> Iterator[Mapping[str, Any]]:
    """Yield steps reconstructed from the transcript alone: end times, no durations."""
    steps = [each for each in words.entries if each[1].role in (Role.ASSISTANT, Role.TOOL)]
    for entry, message in steps[:STEPS_LIMIT]:
        told = {"at_ms": entry.ts_ms, "duration_ms": None}
        if message.role is Role.ASSISTANT:
            usage = entry.usage.as_dict() if entry.usage is not None else None
            failed = entry.data.get("failed_models", [])
            yield {**told, "kind": "model", "model": entry.model, "usage": usage, "failed": failed, "error": None}
        else:
            called = {"name": message.tool_name, "call_id": message.tool_call_id or "", "is_error": message.is_error}
            yield {**told, "kind": "tool", **called}


def _approvals(approvals: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> list[Step]:
    """Attach each approval to the tool call that asked for it; return those without one."""
    left = []
    for each in approvals:
        shown = {name: each[name] for name in ("kind", "title", "state", "at", "by", "reason")}
        decided = each["decidedAt"]
        shown["waitedMs"] = None if decided is None else max(0, decided - each["at"])
        asking = [
            step
            for step in steps
            if step["kind"] == "tool"
            and "approval" not in step
            and step["at"] <= each["at"]
            and (step["durationMs"] is None or each["at"] <= step["at"] + step["durationMs"])
        ]
        named = [step for step in asking if step["name"] == each["tool"]]
        if asking:
            (named or asking)[-1]["approval"] = shown
        else:
            left.append({**shown, "kind": "approval", "of": each["kind"]})
    return left


def _said(message: Message | None) -> Step:
    if message is None:
        return {"text": None, "calls": []}
    return {"text": _cut(message.text), "calls": [call.name for call in message.tool_calls]}


def _written(call: ToolCallBlock) -> str:
    if call.malformed is not None:
        return call.malformed
    return orjson.dumps(dict(call.arguments), default=str, option=orjson.OPT_INDENT_2).decode()


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"
