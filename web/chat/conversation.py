"""A conversation as shown: transcript entries and live events become turns made of parts.

Pure functions and plain data; the ids of parts are the same while a run is live and after it was stored, so that a
morph leaves alone what the reader opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hub.agent.compaction.entry import COMPACTION
from hub.agent.conversation.conversation import PARTS
from hub.agent.conversation.side_note import NOTE_CHANNELS
from hub.agent.runs.view import RunView
from hub.messaging.outbox.replies import delivered_so_far
from hub.messaging.queue.turn import parts_of
from web.chat.markdown import split_blocks
from web.chat.pieces import Piece, ToolGroup, pieces_of
from web.chat.shown import ShownPart, ShownTurn

RESULT_LIMIT = 20_000
"""Characters of a tool's arguments or result that a page shows."""

BRIEF_LIMIT = 80
TITLE_LIMIT = 60
NOTED_LIMIT = 1_000
"""Events of a run that wait for somebody to look."""

RUN_ENDED = "run_ended"
"""The transcript's event for the end of a run without an answer."""

Render = Callable[[str], str]

_UNSAFE_ID = re.compile(r"[^A-Za-z0-9_-]")


def turns_of(entries: Iterable[Mapping[str, Any]]) -> list[ShownTurn]:
    """Return the turns of a transcript, their texts not yet rendered.

    Args:
        entries: Entries as stored (`type`, `id`, `ts_ms`, `run_id`, `message` or `data`).
    """
    turns: list[ShownTurn] = []
    taken: set[str] = set()
    calls: dict[str, ShownPart] = {}
    heard: dict[str | None, int] = {}
    for entry in entries:
        message = entry.get("message")
        if entry.get("type") == "event":
            _end(turns, taken, entry)
            _summarised(turns, taken, entry)
        if entry.get("type") != "message" or not isinstance(message, Mapping):
            continue
        role = message.get("role")
        if role == "toolResult":
            _finish(calls.get(str(message.get("toolCallId"))), message, int(entry.get("ts_ms") or 0))
            continue
        if role not in {"user", "assistant"}:
            continue
        if role == "user" and (runs := (entry.get("data") or {}).get(PARTS)):
            _add_parts(turns, taken, entry, runs)
            heard.setdefault(entry.get("run_id"), int(entry.get("ts_ms") or 0))
            continue
        turn = _turn_for(turns, taken, entry, "note" if _is_note(entry) else str(role))
        if role == "user":
            heard.setdefault(turn.run_id, turn.ts_ms)
        else:
            _count(turn, entry, heard.get(turn.run_id) if turn.run_id else None)
        data = entry.get("data") or {}
        turn.channel = str(data.get("channel")) if turn.role == "note" else ""
        known = {each["model"] for each in turn.failed_models}  # one that fails again in a turn is named once
        turn.failed_models += [each for each in data.get("failed_models") or [] if each["model"] not in known]
        turn.notices += [each for each in data.get("notices") or [] if each not in turn.notices]
        for block in _blocks(message.get("content")):
            part = _part(turn, block)
            if part is not None and part.kind == "tool":
                part.started_ms = int(entry.get("ts_ms") or 0)
                calls[part.call_id] = part
    for part in calls.values():
        if part.state == "running":
            part.state = "interrupted"
    asked = {turn.run_id: _text_of(turn) for turn in turns if turn.role == "user" and turn.run_id}
    for turn in turns:
        if turn.role == "assistant":
            turn.asked = asked.get(turn.run_id or "", "")
    return [turn for turn in turns if turn.parts or turn.state != "done"]


def _text_of(turn: ShownTurn) -> str:
    return "\n".join(part.text for part in turn.parts if part.kind == "text")


def texts_of(turns: Iterable[ShownTurn]) -> list[str]:
    """Return the texts in these turns that have no HTML yet."""
    return [part.text for turn in turns for part in turn.parts if part.kind == "text" and not part.html]


def render_turns(turns: Iterable[ShownTurn], render: Render) -> None:
    """Fill in the HTML of the texts in these turns."""
    for turn in turns:
        for part in turn.parts:
            if part.kind == "text" and not part.html:
                part.html = render(part.text)


class LiveRun:
    """A run so far; knows which of its parts changed since the last query. Its events wait until somebody looks.

    Args:
        run_id: The run.
        session_key: Its conversation.
        render: Markdown to safe HTML.
    """

    def __init__(self, run_id: str, session_key: str, render: Render, ts_ms: int = 0) -> None:
        self.run_id = run_id
        self.view = RunView(run_id, session_key)
        self.session_key = session_key
        self._turn = ShownTurn(assistant_id(run_id), "assistant", ts_ms=ts_ms, run_id=run_id, state="running")
        self._render = render
        self._blocks: dict[str, list[tuple[str, str]]] = {}
        self._sent: dict[str, list[str]] = {}
        self._changed: dict[str, None] = {}
        self._noted: list[tuple[str, Mapping[str, Any], int]] = []

    @property
    def turn(self) -> ShownTurn:
        """The turn so far."""
        self._catch_up()
        return self._turn

    @property
    def element_id(self) -> str:
        """Id of the turn's element."""
        return f"t-{self._turn.id}"

    def apply(self, type: str, data: Mapping[str, Any], ts_ms: int = 0) -> None:
        """Apply one event of the run, fired at this time, before the next query."""
        self._noted.append((type, data, ts_ms))
        if len(self._noted) >= NOTED_LIMIT:
            self._catch_up()

    def _catch_up(self) -> None:
        noted, self._noted = self._noted, []
        for type, data, ts_ms in noted:
            self._apply(type, data, ts_ms)

    def _apply(self, type: str, data: Mapping[str, Any], ts_ms: int) -> None:
        index = self.view.apply(type, data)
        if index is None:
            return
        seen = self.view.parts[index]
        if index == len(self._turn.parts):
            tool = seen.kind == "tool"
            _append(self._turn, _tool(seen.call_id, seen.name, seen.arguments) if tool else ShownPart(seen.kind, ""))
        part = self._turn.parts[index]
        part.text = _for_people(seen.text) if seen.kind == "text" else seen.text
        if seen.kind == "compaction":
            part.state = "running" if not seen.text else "error" if seen.is_error else "done"
        elif seen.kind == "tool" and seen.output is None:
            part.result = _bounded(seen.update) if seen.update else None
            part.state = "waiting" if seen.waits else "running"
        part.started_ms = part.started_ms or ts_ms
        if seen.output is not None:
            part.result = _bounded(seen.output)
            part.state = "error" if seen.is_error else "done"
            part.ended_ms = part.ended_ms or ts_ms
        self._changed[part.id] = None

    def changes(self) -> list[tuple[str, str, Piece | str]]:
        """Return the changes since the last call: (element id, parent element id, piece or finished HTML).

        A long text is sent by blocks: only those that changed, because earlier blocks no longer change.
        """
        parts, asks = self.turn.parts, self.turn.asks
        items: list[tuple[str, str, Piece | str]] = []
        changed, self._changed = self._changed, {}
        for piece in pieces_of(parts, asks):
            if isinstance(piece, ShownPart) and piece.kind == "text":
                items.extend(self._text_changes(piece) if piece.id in changed else ())
            elif isinstance(piece, ToolGroup):
                if any(part.id in changed for part in piece.parts):
                    items.append((piece.id, self.element_id, piece))
            elif piece.id in changed:
                items.append((piece.id, self.element_id, piece))
        return items

    def snapshot(self) -> ShownTurn:
        """Return the turn with all its texts rendered, as a page that is opened now shows it."""
        turn = self.turn
        for part in turn.parts:
            if part.kind == "text":
                part.html = self._html(part)
        return turn

    def _text_changes(self, part: ShownPart) -> list[tuple[str, str, Piece | str]]:
        blocks = self._rendered(part)
        sent = self._sent.get(part.id)
        self._sent[part.id] = [text for text, _ in blocks]
        if sent is None:
            part.html = self._html(part)
            return [(part.id, self.element_id, part)]
        return [
            (f"{part.id}-b{index}", part.id, _wrapped(part.id, index, html))
            for index, (text, html) in enumerate(blocks)
            if index >= len(sent) or sent[index] != text
        ]

    def _rendered(self, part: ShownPart) -> list[tuple[str, str]]:
        """Return the blocks of a text and their HTML; a rendered block is not rendered again."""
        known = self._blocks.get(part.id, [])
        self._blocks[part.id] = [
            known[index] if index < len(known) and known[index][0] == text else (text, self._render(text))
            for index, text in enumerate(split_blocks(part.text))
        ]
        return self._blocks[part.id]

    def _html(self, part: ShownPart) -> str:
        return "".join(_wrapped(part.id, index, html) for index, (_, html) in enumerate(self._rendered(part)))


def title_of(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a title for an untitled conversation: the beginning of the person's first message."""
    for entry in entries:
        message = entry.get("message")
        if isinstance(message, Mapping) and message.get("role") == "user" and not _is_note(entry):
            words = " ".join(" ".join(str(block.get("text", "")) for block in _blocks(message.get("content"))).split())
            if words:
                return words if len(words) <= TITLE_LIMIT else words[: TITLE_LIMIT - 1] + "…"
    return None


def assistant_id(run_id: str) -> str:
    """Return the id of the turn in which an agent answers in a run."""
    return f"a-{_safe(run_id)}"


def _add_parts(turns: list[ShownTurn], taken: set[str], entry: Mapping[str, Any], runs: Sequence[str]) -> None:
    """Add messages that one run answers, each as a turn; messages sent during the run come above its answer."""
    message, run_id = entry.get("message") or {}, entry.get("run_id")
    blocks = _blocks(message.get("content"))
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    said = parts_of(text, len(runs))
    at = next((at for at, turn in enumerate(turns) if turn.role == "assistant" and turn.run_id == run_id), len(turns))
    for own, part in zip(runs, said, strict=False):
        wanted = f"u-{_safe(str(own))}"
        wanted = wanted if wanted not in taken else f"u-{_safe(str(entry.get('id')))}"
        taken.add(wanted)
        turn = ShownTurn(wanted, "user", ts_ms=int(entry.get("ts_ms") or 0), run_id=run_id)
        _append(turn, ShownPart("text", "", text=part))
        turns.insert(at, turn)
        at += 1
    for block in blocks:
        if block.get("type") != "text":
            _part(turns[at - 1], block)


def _turn_for(turns: list[ShownTurn], taken: set[str], entry: Mapping[str, Any], role: str) -> ShownTurn:
    run_id = entry.get("run_id")
    last = turns[-1] if turns else None
    if last is not None and role == "assistant" and last.role == role and last.run_id == run_id:
        return last
    if role == "assistant" and run_id and (begun := assistant_id(str(run_id))) in taken:
        return next(turn for turn in reversed(turns) if turn.id == begun)
    mark = {"user": "u", "note": "n"}.get(role, "a")
    wanted = f"{mark}-{_safe(str(run_id or entry.get('id')))}"
    if wanted in taken:
        wanted = f"{mark}-{_safe(str(entry.get('id')))}"
    taken.add(wanted)
    turn = ShownTurn(wanted, role, ts_ms=int(entry.get("ts_ms") or 0), run_id=run_id)
    turns.append(turn)
    return turn


def _is_note(entry: Mapping[str, Any]) -> bool:
    """Whether the hub inserted an entry by itself: a recall, a reminder, or an event."""
    message = entry.get("message")
    data = entry.get("data")
    if not isinstance(message, Mapping) or message.get("role") != "user" or not isinstance(data, Mapping):
        return False
    return data.get("channel") in NOTE_CHANNELS


def _end(turns: list[ShownTurn], taken: set[str], entry: Mapping[str, Any]) -> None:
    """Note on an agent's turn how its run ended, when that was not well."""
    data = entry.get("data") or {}
    status = data.get("status")
    if data.get("name") != RUN_ENDED or status in (None, "ok"):
        return
    turn = _turn_for(turns, taken, entry, "assistant")
    turn.state = "aborted" if status == "aborted" else "error"
    if turn.state != "aborted":
        turn.error, turn.details = data.get("message") or data.get("code"), data.get("details") or {}


def _summarised(turns: list[ShownTurn], taken: set[str], entry: Mapping[str, Any]) -> None:
    """Mark a compaction: in the turn of its run, else by itself."""
    data = entry.get("data") or {}
    if data.get("name") == COMPACTION:
        turn = _turn_for(turns, taken, entry, "assistant" if entry.get("run_id") else "note")
        _append(turn, ShownPart("compaction", "", text=str(data.get("messages") or 0), state="done"))


def _count(turn: ShownTurn, entry: Mapping[str, Any], heard_ms: int | None) -> None:
    """Record an agent turn's model, usage and duration."""
    usage = entry.get("usage") or {}
    turn.model = str(entry.get("model") or turn.model)
    turn.input_tokens += sum(usage.get(f"{kind}_tokens") or 0 for kind in ("input", "cache_read", "cache_write"))
    turn.output_tokens += usage.get("output_tokens") or 0
    if heard_ms:
        turn.seconds = max(0.0, (int(entry.get("ts_ms") or 0) - heard_ms) / 1000)


def _part(turn: ShownTurn, block: Mapping[str, Any]) -> ShownPart | None:
    match block.get("type"):
        case "text":
            text = str(block.get("text", ""))
            text = _for_people(text) if turn.role == "assistant" else text
            return _append(turn, ShownPart("text", "", text=text)) if text.strip() else None
        case "thinking":
            return _append(turn, ShownPart("thinking", "", text=str(block.get("thinking", ""))))
        case "toolCall":
            arguments = block.get("malformed") or block.get("arguments")
            return _append(turn, _tool(str(block.get("id")), str(block.get("name")), arguments))
        case "image":
            return _append(turn, ShownPart("image", ""))
        case _:
            return None


def _for_people(answer: str) -> str:
    """Return an answer without its directives for chat apps."""
    return delivered_so_far(answer).text or "" if "[[" in answer else answer


def _append(turn: ShownTurn, part: ShownPart) -> ShownPart:
    part.id = f"p-{turn.id}-{len(turn.parts)}"
    turn.parts.append(part)
    return part


def _tool(call_id: str, name: str, arguments: Any) -> ShownPart:
    if isinstance(arguments, str):
        shown = arguments
    else:
        shown = json.dumps(arguments or {}, ensure_ascii=False, indent=2, default=str)
    return ShownPart(
        "tool",
        "",
        call_id=call_id,
        name=name,
        arguments=_bounded(shown),
        brief=_brief(name, arguments),
        state="running",
    )


def _finish(part: ShownPart | None, message: Mapping[str, Any], ts_ms: int) -> None:
    if part is None:
        return
    part.ended_ms = ts_ms
    part.result = _bounded("".join(str(block.get("text", "")) for block in _blocks(message.get("content"))))
    part.state = "error" if message.get("isError") else "done"


def _brief(name: str, arguments: Any) -> str:
    """Return the argument that says most, on one line."""
    values: Iterable[Any] = arguments.values() if isinstance(arguments, Mapping) else ()
    if name == "call_service" and isinstance(arguments, Mapping):
        values = (".".join(str(arguments.get(part, "")) for part in ("domain", "service")),)
    words = next((" ".join(value.split()) for value in values if isinstance(value, str) and value.strip()), "")
    return words if len(words) <= BRIEF_LIMIT else words[: BRIEF_LIMIT - 1] + "…"


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, Mapping)]


def _bounded(text: str) -> str:
    return text if len(text) <= RESULT_LIMIT else text[:RESULT_LIMIT] + "\n…"


def _safe(identifier: str) -> str:
    return _UNSAFE_ID.sub("_", identifier)


def _wrapped(part_id: str, index: int, html: str) -> str:
    return f'<div class="block" id="{part_id}-b{index}">{html}</div>'
