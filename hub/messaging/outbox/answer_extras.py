"""Extras beside an answer, on request: its tool calls, its thinking, and its usage."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from msgspec import Struct

from hub.agent.compaction.compact import EVENT_FINISHED
from hub.agent.parts import RunDependencies
from hub.agent.run_request import RunResult
from hub.core.events import Event
from hub.core.sql import SqlConnection
from hub.messaging.capabilities import CanDraft
from hub.messaging.contract import Address
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import ReplyTarget
from hub.messaging.texts import say
from hub.models.contract import Thinking

WATCHED_LIMIT = 1_000
"""Runs that are watched at once; of the oldest beyond that nothing is sent but the answer."""
QUEUED_FROM_MS = 2_000
"""A message that waited so long for its turn is said to have."""
ARGUMENT_CHARS = 160
RESULT_CHARS = 1_500
THINKING_CHARS = 3_000

_TICKS = re.compile("`+")


class _WatchedRun(Struct, eq=False):
    """A run whose chat may want extras."""

    session_key: str
    address: Address
    options: Mapping[str, Any]
    due_ms: int = 0
    thought: str = ""
    draft_next_at: float = 0.0


class AnswerExtras:
    """Sends the extras of `/verbose`, `/reasoning` and `/usage`: the message's settings, else its session's.

    Not to the home channel, where the conversation itself shows all of that.

    Args:
        parts: The dependencies of runs.
        outbox: Sends the messages.
        language: The language of the home.
        may_send: Whether anything of a session is sent to a chat.
    """

    def __init__(
        self,
        parts: RunDependencies,
        outbox: Outbox,
        language: Callable[[], str],
        may_send: Callable[[Address, str], bool],
    ) -> None:
        self._parts = parts
        self._outbox = outbox
        self._language = language
        self._may_send = may_send
        self._watched: OrderedDict[str, _WatchedRun] = OrderedDict()
        parts.bus.listen("run_started", self._started)
        parts.bus.listen("run_tool_started", self._tool_started)
        parts.bus.listen("run_tool_finished", self._tool_finished)
        parts.bus.listen(EVENT_FINISHED, self._compacted)
        parts.bus.listen("run_thinking", self._thinking)
        parts.bus.listen("run_finished", self._finished)

    def watch(
        self, run_id: str, session_key: str, address: Address, options: Mapping[str, Any], due_ms: int = 0
    ) -> None:
        """Watch a run from now to its end.

        Args:
            options: The options of the message that it answers.
            due_ms: When that could have begun, in milliseconds since the epoch; 0 when it does not matter.
        """
        if self._outbox.channels.is_home(address.channel):
            return
        self._watched[run_id] = _WatchedRun(session_key, address, options, due_ms)
        while len(self._watched) > WATCHED_LIMIT:
            self._watched.popitem(last=False)

    def beside(self, connection: SqlConnection, result: RunResult, target: ReplyTarget) -> str:
        """Write the extras before an answer, in the caller's transaction; return the line below it, if any."""
        run = self._watched.get(result.run_id)
        if run is None or result.status != "ok":
            return ""
        wanted = self._chosen(run, "reasoning")
        thoughts = _thoughts(result) if wanted == "on" or (wanted == "stream" and self._draws(run) is None) else ""
        if thoughts:
            text = f"{say('reasoning.title', self._language())}\n{thoughts}"
            self._outbox.insert(
                connection, target.address, text, caused_by=target.context.id, session_key=target.session_key
            )
        level = self._chosen(run, "footer")
        return self._footer(result, level) if level in ("tokens", "full") else ""

    def _footer(self, result: RunResult, level: str) -> str:
        usage = result.usage
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        cost = "-" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        key = f"footer.{level}"
        return say(key, self._language(), input=read, output=usage.output_tokens, cost=cost, model=result.model or "-")

    def _started(self, event: Event) -> None:
        run = self._watched.get(event.data["run_id"])
        waited_ms = self._parts.now_ms() - run.due_ms if run is not None and run.due_ms else 0
        if run is not None and waited_ms >= QUEUED_FROM_MS and self._is_verbose(run, "on"):
            self._tell(run, event, "verbose.queued", ms=waited_ms)

    def _tool_started(self, event: Event) -> None:
        run = self._watched.get(event.data["run_id"])
        if run is not None and self._is_verbose(run, "on"):
            shown = self._parts.redactor.redact(_written(event.data.get("arguments")))
            self._tell(run, event, "verbose.tool", name=event.data["name"], arguments=_cut(shown))

    def _tool_finished(self, event: Event) -> None:
        run = self._watched.get(event.data["run_id"])
        if run is not None and self._is_verbose(run, "full"):
            key = "verbose.failed" if event.data["is_error"] else "verbose.result"
            self._tell(run, event, key, name=event.data["name"], output=_fenced(event.data["output"]))

    def _compacted(self, event: Event) -> None:
        run, told = self._watched.get(event.data["run_id"]), event.data
        if run is not None and "error" not in told and self._is_verbose(run, "on"):
            sizes = {"before": told["tokens_before"], "after": told["tokens_after"]}
            self._tell(run, event, "verbose.compacted", count=told["messages"], **sizes)

    def _is_verbose(self, run: _WatchedRun, level: str) -> bool:
        return self._chosen(run, "verbose") in (level, "full") and self._may_send(run.address, run.session_key)

    def _tell(self, run: _WatchedRun, event: Event, key: str, **facts: Any) -> None:
        text = say(key, self._language(), **facts).rstrip()
        sending = self._outbox.send(run.address, text, event.context, session_key=run.session_key)
        self._parts.tasks.spawn(sending, name="send what /verbose asks for")

    def _thinking(self, event: Event) -> None:
        run = self._watched.get(event.data["run_id"])
        if run is None or self._chosen(run, "reasoning") != "stream":
            return
        run.thought = (run.thought + event.data["text"])[-THINKING_CHARS:]
        channel, now = self._draws(run), self._parts.clock.monotonic()
        if channel is None or now < run.draft_next_at or not self._may_send(run.address, run.session_key):
            return
        run.draft_next_at = now + channel.limits.draft_interval_s
        thinking = channel.draft(run.address, event.data["run_id"], run.thought)
        self._parts.tasks.spawn(thinking, name="show what a model thinks")

    def _finished(self, event: Event) -> None:
        self._watched.pop(event.data["run_id"], None)

    def _draws(self, run: _WatchedRun) -> CanDraft | None:
        attached = self._outbox.channels.get(run.address.channel, run.address.account)
        found: object = attached and attached.channel
        return found if isinstance(found, CanDraft) else None

    def _chosen(self, run: _WatchedRun, field: str) -> str | None:
        session = self._parts.sessions.get(run.session_key)
        chosen: str | None = run.options.get(field) or getattr(session, field, None)
        return chosen


def _thoughts(result: RunResult) -> str:
    """Return the thinking as a quotation."""
    found = [block.text for message in result.messages for block in message.content if isinstance(block, Thinking)]
    lines = "\n\n".join(found).strip()[:THINKING_CHARS].splitlines()
    return "\n".join(f"> {line}" for line in lines)


def _written(arguments: Any) -> str:
    if not arguments:
        return ""
    if isinstance(arguments, str):
        return arguments
    return ", ".join(f"{name}={orjson.dumps(value, default=str).decode()}" for name, value in arguments.items())


def _fenced(output: str) -> str:
    """Return the beginning of a tool's output as code, whatever is in it."""
    text = output.strip()
    shown = text if len(text) <= RESULT_CHARS else f"{text[:RESULT_CHARS]}…"
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(shown))])
    return f"{fence}\n{shown}\n{fence}" if shown else ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ARGUMENT_CHARS else f"{line[: ARGUMENT_CHARS - 1]}…"
