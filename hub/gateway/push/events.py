"""Pushes what happens in the hub to clients, as the protocol's events.

Runs are followed only while somebody is connected who may see them. Their deltas go out at once to programs, and at
most every 150 ms per run to clients that a person watches; whatever else happens in a run goes out behind its deltas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hub.agent.compaction.compact import EVENT_FINISHED, EVENT_STARTED
from hub.agent.runs.view import RunView
from hub.core.clock import Clock
from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.surfaces import READ, Push
from hub.gateway.push.broadcast import Broadcast
from hub.gateway.push.run_ends import chat_state, error_payload
from hub.messaging.access.pairing import EVENT_PAIRING_DECIDED, EVENT_PAIRING_REQUESTED, SCOPE
from hub.sessions.keys import agent_of

COALESCE_S = 0.15
FOLLOWED_LIMIT = 1_000
"""Runs followed at once; the oldest is forgotten beyond it."""
TOOL_OUTPUT_LIMIT = 20_000
SESSIONS_TOPIC = "sessions"


def session_topic(key: str) -> str:
    """Return the topic of a session's messages."""
    return f"session:{key}"


class _Audience:
    """The run events sent to one group of clients; each group has its own sequence."""

    __slots__ = ("agent_seq", "chat_seq", "pending", "sent_at", "thinking", "timer")

    def __init__(self) -> None:
        self.agent_seq = 0
        self.chat_seq = 0
        self.pending = ""
        self.thinking = ""
        self.sent_at = 0.0
        self.timer: asyncio.TimerHandle | None = None


class _Followed:
    __slots__ = ("audiences", "started_ms", "view", "whose")

    def __init__(self, run_id: str, session_key: str, started_ms: int) -> None:
        self.view = RunView(run_id, session_key)
        self.whose = {"runId": run_id, "sessionKey": session_key, "agentId": agent_of(session_key)}
        self.started_ms = started_ms
        self.audiences = {True: _Audience(), False: _Audience()}


class RunEvents:
    """Pushes the events of runs to clients.

    Args:
        bus: Fires the events of runs.
        broadcast: The clients.
    """

    def __init__(self, bus: EventBus, broadcast: Broadcast, clock: Clock) -> None:
        self._bus = bus
        self._broadcast = broadcast
        self._clock = clock
        self._runs: dict[str, _Followed] = {}
        self._listening: list[Unsubscribe] = []

    def start(self) -> None:
        """Start following runs whenever a client is connected that may see them."""
        self._broadcast.on_watched(self._watched)

    def stop(self) -> None:
        """Stop following runs."""
        self._watched(watched=False)

    def chat_final(self, run_id: str, session_key: str, text: str) -> None:
        """Push an answer without a run, such as that of a command."""
        payload = {
            "runId": run_id,
            "sessionKey": session_key,
            "seq": 1,
            "state": "final",
            "message": self._message(text),
            "deltaText": "",
        }
        self._broadcast.push(Push("chat", payload, scope=READ))

    def _watched(self, watched: bool) -> None:
        if not watched:
            for unsubscribe in self._listening:
                unsubscribe()
            self._listening.clear()
            for run in self._runs.values():
                _cancel_timers(run)
            self._runs.clear()
            return
        if self._listening:
            return
        handlers: dict[str, Callable[[Event], None]] = {
            "run_started": self._started,
            "run_delta": self._delta,
            "run_thinking": self._thinking,
            "run_tool_started": self._tool_started,
            "run_tool_updated": self._tool_updated,
            "run_tool_finished": self._tool_finished,
            EVENT_STARTED: self._compaction,
            EVENT_FINISHED: self._compaction,
            "run_message": self._stored,
            "run_finished": self._finished,
            "run_settled": self._finished,
        }
        self._listening = [self._bus.listen(type, handler) for type, handler in handlers.items()]

    def _run(self, event: Event) -> _Followed:
        data = event.data
        run_id = data["run_id"]
        run = self._runs.get(run_id)
        if run is None:
            while len(self._runs) >= FOLLOWED_LIMIT:
                _cancel_timers(self._runs.pop(next(iter(self._runs))))
            run = self._runs[run_id] = _Followed(run_id, data.get("session_key", ""), int(self._clock.time() * 1_000))
        run.view.apply(event.type, data)
        return run

    def _started(self, event: Event) -> None:
        data = event.data
        run = self._run(event)
        self._agent(run, "lifecycle", {"phase": "start", "startedAt": run.started_ms, "model": data.get("model")})

    def _delta(self, event: Event) -> None:
        run = self._run(event)
        text = event.data["text"]
        if self._broadcast.programs:
            self._text(run, text, ui=False)
        if self._broadcast.watchers:
            audience = run.audiences[True]
            audience.pending += text
            self._coalesce(run, audience)

    def _thinking(self, event: Event) -> None:
        run = self._run(event)
        text = event.data["text"]
        if self._broadcast.programs:
            self._agent(run, "thinking", {"delta": text}, only_ui=False, droppable=True)
        if self._broadcast.watchers:
            audience = run.audiences[True]
            audience.thinking += text
            self._coalesce(run, audience)

    def _coalesce(self, run: _Followed, audience: _Audience) -> None:
        if audience.timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait = audience.sent_at + COALESCE_S - loop.time()
        if wait <= 0:
            self._send_pending(run)
            return
        audience.timer = loop.call_later(wait, self._send_pending, run)

    def _send_pending(self, run: _Followed) -> None:
        audience = run.audiences[True]
        if audience.timer is not None:
            audience.timer.cancel()
            audience.timer = None
        if audience.thinking:
            text, audience.thinking = audience.thinking, ""
            self._agent(run, "thinking", {"delta": text}, only_ui=True, droppable=True)
        if audience.pending:
            text, audience.pending = audience.pending, ""
            self._text(run, text, ui=True)
        audience.sent_at = asyncio.get_running_loop().time()

    def _text(self, run: _Followed, delta: str, *, ui: bool) -> None:
        so_far = run.view.text
        self._agent(run, "assistant", {"text": so_far, "delta": delta}, only_ui=ui, droppable=True)
        self._chat(run, {"state": "delta", "message": self._message(so_far), "deltaText": delta}, ui=ui, droppable=True)

    def _tool_started(self, event: Event) -> None:
        data = event.data
        told = {
            "phase": "start",
            "name": data["name"],
            "toolCallId": data["call_id"],
            "args": data.get("arguments") or {},
        }
        self._tool(self._run(event), told)

    def _tool_updated(self, event: Event) -> None:
        data = event.data
        told = {
            "phase": "update",
            "name": data["name"],
            "toolCallId": data["call_id"],
            "partialResult": data["output"][-TOOL_OUTPUT_LIMIT:],
            "waitingForApproval": data["waits"],
        }
        self._tool(self._run(event), told, droppable=True)

    def _tool_finished(self, event: Event) -> None:
        data = event.data
        told = {
            "phase": "result",
            "name": data["name"],
            "toolCallId": data["call_id"],
            "isError": bool(data.get("is_error")),
            "result": str(data.get("output") or "")[:TOOL_OUTPUT_LIMIT],
            "details": data.get("details") or {},
            "durationMs": data.get("duration_ms"),
        }
        self._tool(self._run(event), told)

    def _tool(self, run: _Followed, told: dict[str, Any], *, droppable: bool = False) -> None:
        self._send_pending(run)
        self._agent(run, "tool", told, droppable=droppable)
        payload = {
            "sessionKey": run.view.session_key,
            "runId": run.view.run_id,
            "ts": int(self._clock.time() * 1_000),
            "data": told,
        }
        push = Push("session.tool", payload, scope=READ, droppable=droppable)
        self._broadcast.push(push, topic=session_topic(run.view.session_key))

    def _compaction(self, event: Event) -> None:
        """Push the start or end of a run's compaction; between runs, `sessions.changed` reports it."""
        data = event.data
        if data["run_id"] is None:
            return
        run = self._run(event)
        self._send_pending(run)
        told: dict[str, Any] = {"phase": "start", "reason": data["reason"], "tokensBefore": data["tokens_before"]}
        if event.type == EVENT_FINISHED:
            done = "error" not in data
            told |= {"phase": "end", "completed": done, "willRetry": done and data["reason"] == "overflow"}
            sizes = {"tokensAfter": data.get("tokens_after"), "messages": data.get("messages")}
            told |= sizes if done else {"error": data["error"]}
        self._agent(run, "compaction", told)

    def _stored(self, event: Event) -> None:
        data = event.data
        key = data["session_key"]
        payload = {
            "sessionKey": key,
            "runId": data.get("run_id"),
            "messageId": data.get("entry_id"),
            "message": data["message"],
            "ts": int(self._clock.time() * 1_000),
        }
        if "note" in data:
            payload["note"] = data["note"]
        self._broadcast.push(Push("session.message", payload, scope=READ), topic=session_topic(key))

    def _finished(self, event: Event) -> None:
        data = event.data
        run = self._run(event)
        self._send_pending(run)
        status, error = run.view.status, run.view.error
        ended = int(self._clock.time() * 1_000)
        state = chat_state(status)
        phase: dict[str, Any] = {
            "phase": "error" if state == "error" else "end",
            "startedAt": run.started_ms,
            "endedAt": ended,
        }
        if state == "aborted":
            phase["aborted"] = True
        if state == "error":
            phase["error"] = error.get("message") or status
        self._agent(run, "lifecycle", phase)
        told: dict[str, Any] = {
            "state": state,
            "message": self._message(data.get("reply") or run.view.text),
            "deltaText": "",
            "usage": data.get("usage"),
            "stopReason": data.get("stop"),
            "model": data.get("model"),
            "durationMs": ended - run.started_ms,
        }
        if state == "error":
            told |= error_payload(status, error)
        self._chat(run, told)
        _cancel_timers(run)
        self._runs.pop(run.view.run_id, None)

    def _agent(
        self,
        run: _Followed,
        stream: str,
        data: dict[str, Any],
        *,
        only_ui: bool | None = None,
        droppable: bool = False,
    ) -> None:
        for ui in (True, False) if only_ui is None else (only_ui,):
            if not (self._broadcast.watchers if ui else self._broadcast.programs):
                continue
            audience = run.audiences[ui]
            audience.agent_seq += 1
            shown = {"seq": audience.agent_seq, "stream": stream, "ts": int(self._clock.time() * 1_000), "data": data}
            payload = {**run.whose, **shown}
            self._broadcast.push(Push("agent", payload, scope=READ, droppable=droppable), ui=ui)

    def _chat(self, run: _Followed, told: dict[str, Any], *, ui: bool | None = None, droppable: bool = False) -> None:
        for each in (True, False) if ui is None else (ui,):
            if not (self._broadcast.watchers if each else self._broadcast.programs):
                continue
            audience = run.audiences[each]
            audience.chat_seq += 1
            payload = {**run.whose, "seq": audience.chat_seq, **told}
            self._broadcast.push(Push("chat", payload, scope=READ, droppable=droppable), ui=each)

    def _message(self, text: str) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "timestamp": int(self._clock.time() * 1_000),
        }


class HubEvents:
    """Pushes all other events to clients: sessions, configuration, pairing, health.

    Args:
        bus: Fires its events.
        broadcast: The clients.
        health: The payload of the event `health`.
    """

    def __init__(self, bus: EventBus, broadcast: Broadcast, clock: Clock, health: Callable[[], dict[str, Any]]) -> None:
        self._broadcast = broadcast
        self._clock = clock
        self._health = health
        self._bus = bus
        self._following: list[Unsubscribe] = []
        broadcast.on_watched(self._watched)
        self._listening = [
            bus.listen("config_changed", self._config),
            bus.listen("device_pair_requested", self._pair_requested),
            bus.listen("device_pair_resolved", self._pair_resolved),
            bus.listen("device_pair_setup_completed", self._setup_completed),
            bus.listen(EVENT_PAIRING_REQUESTED, self._stranger_asked),
            bus.listen(EVENT_PAIRING_DECIDED, self._stranger_decided),
            bus.listen("repairs_changed", self._health_changed),
        ]

    def close(self) -> None:
        """Stop pushing events."""
        self._watched(watched=False)
        for unsubscribe in self._listening:
            unsubscribe()
        self._listening.clear()

    def _watched(self, watched: bool) -> None:
        """Hear of sessions while a client is connected that may see them."""
        for unsubscribe in self._following:
            unsubscribe()
        self._following.clear()
        if watched:
            self._following = [
                self._bus.listen("session_changed", self._session),
                self._bus.listen(EVENT_FINISHED, self._compacted),
            ]

    def _session(self, event: Event) -> None:
        ts_ms = int(self._clock.time() * 1_000)
        payload = {"sessionKey": event.data["key"], "reason": event.data["what"], "ts": ts_ms}
        self._broadcast.push(Push("sessions.changed", payload, scope=READ, droppable=True), topic=SESSIONS_TOPIC)

    def _compacted(self, event: Event) -> None:
        if "error" not in event.data:
            payload = {"sessionKey": event.data["session_key"], "reason": "compact", "ts": self._now_ms()}
            self._broadcast.push(Push("sessions.changed", payload, scope=READ, droppable=True), topic=SESSIONS_TOPIC)

    def _config(self, event: Event) -> None:
        changed = sorted(str(each) for each in event.data.get("changed", ()))
        self._broadcast.push(Push("config.changed", {"changed": changed, "ts": self._now_ms()}, scope=READ))

    def _pair_requested(self, event: Event) -> None:
        self._broadcast.push(Push("device.pair.requested", event.data, scope=SCOPE))

    def _pair_resolved(self, event: Event) -> None:
        self._broadcast.push(Push("device.pair.resolved", event.data, scope=SCOPE))

    def _setup_completed(self, event: Event) -> None:
        self._broadcast.push(Push("device.pair.setup.completed", event.data, scope=SCOPE))

    def _stranger_asked(self, event: Event) -> None:
        """Push a stranger's pairing request, without the code."""
        self._broadcast.push(Push("pairing.requested", {**event.data, "ts": self._now_ms()}, scope=SCOPE))

    def _stranger_decided(self, event: Event) -> None:
        facts = {key: event.data[key] for key in ("id", "channel", "account", "identity")}
        decided = {"decision": event.data["state"], "resolvedBy": event.data["decided_by"], "ts": self._now_ms()}
        self._broadcast.push(Push("pairing.resolved", facts | decided, scope=SCOPE))

    def _health_changed(self, _: Event) -> None:
        self._broadcast.push(Push("health", self._health(), scope=None, droppable=True))

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _cancel_timers(run: _Followed) -> None:
    for audience in run.audiences.values():
        if audience.timer is not None:
            audience.timer.cancel()
            audience.timer = None
