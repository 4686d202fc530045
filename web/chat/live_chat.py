"""Live runs: events of the bus become parts of turns, sent to the tabs that watch the conversation."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from hub.agent.agents import Agents
from hub.agent.compaction.compact import EVENT_FINISHED, EVENT_STARTED
from hub.agent.conversation.conversation import PARTS
from hub.automation.services.delivery import EVENT_SESSION_SAID
from hub.core.errors import NotFound
from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.store import SessionStore
from hub.tools.approval import Approval
from web.chat.asks import ShownAsk
from web.chat.conversation import LiveRun, assistant_id, render_turns, texts_of, title_of, turns_of
from web.chat.markdown import Markdown
from web.chat.pieces import pieces_of
from web.chat.shown import ShownPart, ShownTurn
from web.core.live import LiveUpdates
from web.core.render import Renderer

DELTA_INTERVAL_S = 0.15
"""At most one frame of new text per run in this time."""

HEARD_LIMIT_S = 3.0
"""How long the answer to a form waits for what was said to stand in the conversation."""

PROGRESS = ("delta", "thinking", "tool_started", "tool_updated", "tool_finished")
OUTCOME_LIMIT = 500
NOTED_SESSIONS = 100
NOTES_PER_SESSION = 20

_log = logging.getLogger(__name__)


class LiveChat:
    """Follows all runs, and keeps the state of running ones for newly opened pages.

    Args:
        bus: Has the events of runs.
        live: The open tabs.
        tasks: Owner of the tasks that read transcripts.
        asked: Returns the questions to people in a conversation, oldest first.
    """

    def __init__(
        self,
        bus: EventBus,
        live: LiveUpdates,
        renderer: Renderer,
        markdown: Markdown,
        sessions: SessionStore,
        *,
        agents: Agents,
        tasks: TaskOwner,
        asked: Callable[[str], Awaitable[Sequence[ShownAsk]]],
    ) -> None:
        self._asked = asked
        self._bus = bus
        self._live = live
        self._renderer = renderer
        self._markdown = markdown
        self._sessions = sessions
        self._agents = agents
        self._tasks = tasks
        self._runs: dict[str, LiveRun] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._outcomes: OrderedDict[str, tuple[str, str | None, Mapping[str, Any]]] = OrderedDict()
        self._notes: OrderedDict[str, deque[ShownTurn]] = OrderedDict()
        self._unsubscribe: list[Unsubscribe] = [
            bus.listen("run_started", self._started),
            *(bus.listen(f"run_{name}", self._progress) for name in PROGRESS),
            bus.listen(EVENT_STARTED, self._compaction),
            bus.listen(EVENT_FINISHED, self._compaction),
            bus.listen("run_message", self._message),
            bus.listen("run_finished", self._finished),
            bus.listen("run_settled", self._settled),
            bus.listen("session_changed", self._session_changed),
            bus.listen(EVENT_SESSION_SAID, self._said),
        ]

    def run_of(self, session_key: str) -> LiveRun | None:
        """Return the active run of a conversation."""
        return next((run for run in self._runs.values() if run.session_key == session_key), None)

    def working(self) -> set[str]:
        """Return the keys of the conversations with an active run."""
        return {run.session_key for run in self._runs.values()}

    async def turns(self, session_key: str, past: str | None = None) -> list[ShownTurn]:
        """Return the turns of a conversation, the live one included; texts of stored ones are not rendered.

        Args:
            session_key: The conversation.
            past: The id of a transcript from before it was reset, whose turns are returned instead.

        Raises:
            HubError: The transcript cannot be read.
        """
        session = self._sessions.get(session_key)
        if session is not None and past is not None:
            return turns_of([entry.as_dict() for entry in await self._sessions.past_entries(session, past)])
        transcript = None if session is None else await self._sessions.open_transcript(session)
        turns = turns_of([] if transcript is None else [entry.as_dict() for entry in transcript.branch()])
        for turn in turns:
            self._mark(turn)
        for note in self._notes.get(session_key, ()):
            _insert(turns, note)
        live = self.run_of(session_key)
        if live is not None:
            turns = [turn for turn in turns if turn.id != live.turn.id] + [live.snapshot()]
        asks: dict[str | None, list[ShownAsk]] = {}
        for each in await self._asked(session_key):
            asks.setdefault(each.run_id, []).append(each)
        for turn in turns:
            if turn.role == "assistant" and turn.run_id in asks:
                turn.asks = asks.pop(turn.run_id)
        for ask in (each for several in asks.values() for each in several):
            _insert(turns, ShownTurn(f"q-{ask.id}", "ask", ts_ms=ask.created_ms, asks=[ask]))
        return turns

    async def show_ask(self, approval: Approval) -> None:
        """Show the card of a pending or answered question in its conversation."""
        key = approval.session_key
        if key is None or not self._live.is_watched(_topic(key)):
            return
        for turn in await self.turns(key):
            if any(each.id == approval.id for each in turn.asks):
                await self.prepare([turn])
                self._send_turn(key, turn)

    @contextmanager
    def hearing(self, run_id: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Wait, for a bounded time, until a run's first words are in its conversation."""
        stored = asyncio.Event()

        def hear(event: Event) -> None:
            if "note" not in event.data:
                stored.set()

        unlisten = self._bus.listen("run_message", hear, {"run_id": run_id})

        async def heard() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARD_LIMIT_S):
                    await stored.wait()

        try:
            yield heard
        finally:
            unlisten()

    def add_command(self, session_key: str, said: str, reply: str) -> None:
        """Show a command and its reply; neither is stored in the conversation."""
        id = new_id()
        self._add(session_key, ShownTurn(f"u-{id}", "user"), said)
        self._add(session_key, ShownTurn(f"n-{id}", "note"), reply)

    def _add(self, session_key: str, turn: ShownTurn, text: str) -> None:
        if session_key not in self._notes and len(self._notes) >= NOTED_SESSIONS:
            self._notes.popitem(last=False)
        turn.ts_ms = self._renderer.now_ms()
        turn.parts.append(ShownPart("text", f"p-{turn.id}-0", text=text))
        self._notes.setdefault(session_key, deque(maxlen=NOTES_PER_SESSION)).append(turn)
        self._send_turn(session_key, turn)

    async def prepare(self, turns: Iterable[ShownTurn]) -> bool:
        """Render the texts of turns without holding the loop; return whether that took time; if so, read them again."""
        return await self._markdown.prepare(texts_of(turns))

    def shown(self, turn: ShownTurn, session_key: str) -> dict[str, Any]:
        """Return a turn as templates read it; see `prepare`."""
        render_turns([turn], self._markdown.render_kept)
        return turn.as_dict() | {
            "when": self._renderer.when(turn.ts_ms),
            "iso": self._renderer.iso(turn.ts_ms),
            **self._author(session_key),
            "pieces": lambda: pieces_of(turn.parts, turn.asks),
            "text": turn.text,
            "session": session_key,
            "retry_key": f"web-{new_id()}",
            "why": turn.why,
            "notice_texts": turn.notice_texts,
        }

    def _author(self, session_key: str) -> dict[str, str]:
        try:
            agent = self._agents.get(SessionKey.parse(session_key).agent)
        except NotFound:
            return {"author": "", "avatar": ""}
        return {"author": agent.title, "avatar": f"/avatar?agent={agent.id}" if agent.avatar is not None else ""}

    def run_state(self, session_key: str, language: str) -> str:
        """Return the line with the Stop button as HTML."""
        run = self.run_of(session_key)
        data = {"run_id": run.run_id if run else None, "session": {"key": session_key}}
        return self._renderer.fragment("run_state", language, page=data)

    def close(self) -> None:
        """Stop listening."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    # -- what runs tell ------------------------------------------------------------------------------------------------

    def _started(self, event: Event) -> None:
        run_id, key = event.data["run_id"], event.data["session_key"]
        run = LiveRun(run_id, key, self._markdown.render, self._renderer.now_ms())
        self._runs[run_id] = run
        self._send_turn(key, run.turn)
        self._send_run_state(key)
        self._live.changed_all("sessions")

    def _progress(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is not None:
            run.apply(event.type, event.data, int(event.time_fired * 1000))
            self._soon(run)

    def _compaction(self, event: Event) -> None:
        if event.data["run_id"] is not None:
            self._progress(event)
        elif event.type == EVENT_FINISHED and "error" not in event.data:
            self._live.changed(_topic(event.data["session_key"]))

    def _message(self, event: Event) -> None:
        message = event.data["message"]
        if message.get("role") != "user":
            return
        entry = {
            "type": "message",
            "id": event.data["entry_id"],
            "run_id": None if "note" in event.data else event.data["run_id"],
            "ts_ms": int(event.time_fired * 1000),
            "message": message,
            "data": {"channel": event.data.get("note"), PARTS: event.data.get(PARTS)},
        }
        key = event.data["session_key"]
        session = self._sessions.get(key)
        unnamed = session is not None and session.name is None and SessionKey.parse(key).kind is not SessionKind.MAIN
        if unnamed and (title := title_of([entry])) is not None:
            self._tasks.spawn(self._name(key, title), name="name a conversation")
        if self._live.is_watched(_topic(key)):
            for turn in turns_of([entry]):
                self._send_turn(key, turn)

    def _finished(self, event: Event) -> None:
        run_id, key = event.data["run_id"], event.data["session_key"]
        run = self._runs.pop(run_id, None)
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            timer.cancel()
        status = event.data["status"]
        if status != "ok":
            error = event.data.get("error") or {}
            state = "aborted" if status == "aborted" else "error"
            self._outcomes[run_id] = (state, error.get("message"), error.get("details") or {})
            while len(self._outcomes) > OUTCOME_LIMIT:
                self._outcomes.popitem(last=False)
        if run is not None and self._live.is_watched(_topic(key)):
            self._tasks.spawn(self._send_final(key, run), name="show a finished run")
        self._send_run_state(key)
        self._live.changed_all("sessions")

    def _settled(self, event: Event) -> None:
        """Tell tabs that a message was answered together with another one, or is not answered."""
        key, back = event.data["session_key"], event.data["status"] == "aborted"
        frame = {"t": "settled", "session": key, "key": event.data["run_id"], "back": back}
        self._live.send(_topic(key), lambda _: frame)

    def _session_changed(self, event: Event) -> None:
        self._live.changed_all("sessions")
        if event.data.get("what") in {"reset", "deleted"}:
            self._live.changed(_topic(event.data["key"]))

    def _said(self, event: Event) -> None:
        """Show a message of a reminder or an automation."""
        self._live.changed(_topic(event.data["session_key"]))

    # -- frames for tabs ----------------------------------------------------------------------------------------------

    def _soon(self, run: LiveRun) -> None:
        run_id = run.run_id
        if run_id in self._timers or not self._live.is_watched(_topic(run.session_key)):
            return
        loop = asyncio.get_running_loop()
        self._timers[run_id] = loop.call_later(DELTA_INTERVAL_S, self._flush, run_id)

    def _flush(self, run_id: str) -> None:
        self._timers.pop(run_id, None)
        run = self._runs.get(run_id)
        if run is None:
            return
        changes = run.changes()

        def frame(language: str) -> dict[str, Any]:
            items = [
                (
                    id,
                    parent,
                    self._renderer.fragment("block", language, html=what)
                    if isinstance(what, str)
                    else self._renderer.fragment("part", language, part=what),
                )
                for id, parent, what in changes
            ]
            return {"t": "parts", "session": run.session_key, "turn": run.element_id, "items": items}

        if changes:
            self._live.send(_topic(run.session_key), frame)

    async def _name(self, key: str, title: str) -> None:
        try:
            await self._sessions.patch(key, title=title)
        except NotFound:
            _log.debug("session %s was deleted before it had a name", key)

    async def _send_final(self, key: str, run: LiveRun) -> None:
        stored = next((turn for turn in reversed(await self.turns(key)) if turn.id == run.turn.id), None)
        turn = stored or run.snapshot()
        if stored is None:
            turn.state = "done"
            self._mark(turn)
        await self.prepare([turn])
        self._send_turn(key, turn, done=True)

    def _send_turn(self, key: str, turn: ShownTurn, *, done: bool = False) -> None:
        topic = _topic(key)
        if not self._live.is_watched(topic):
            return
        shown = self.shown(turn, key)

        def frame(language: str) -> dict[str, Any]:
            html = self._renderer.fragment("turn", language, turn=shown)
            above = f"t-{assistant_id(turn.run_id)}" if turn.role == "user" and turn.run_id else None
            return {"t": "turn", "session": key, "id": f"t-{turn.id}", "above": above, "html": html, "done": done}

        self._live.send(topic, frame)

    def _send_run_state(self, key: str) -> None:
        self._live.send(
            _topic(key), lambda language: {"t": "html", "id": "run-state", "html": self.run_state(key, language)}
        )

    def _mark(self, turn: ShownTurn) -> None:
        outcome = self._outcomes.get(turn.run_id or "") if turn.role == "assistant" else None
        if outcome is not None:
            turn.state, turn.error, turn.details = outcome


def _topic(session_key: str) -> str:
    return f"session:{session_key}"


def _insert(turns: list[ShownTurn], turn: ShownTurn) -> None:
    """Put a turn where it belongs by its time."""
    turns.insert(next((at for at, each in enumerate(turns) if each.ts_ms > turn.ts_ms), len(turns)), turn)
