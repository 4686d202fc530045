"""The inbox: every message, from every channel, enters the hub here and is on disk before it is acknowledged.

One database row holds what was received, what was decided about it and which run answers it; the run's own row is
written in the same transaction, so that nothing can fall between the two.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from hub.agent.run_request import RunRequest, RunResult
from hub.agent.runner import AgentRunner
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.errors import Conflict
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.messaging.commands import CommandCall, Commands
from hub.messaging.contract import Address, ChatType, InboundMessage, Receipt
from hub.messaging.outbox import Outbox
from hub.messaging.router import Refused, Routed, Router
from hub.messaging.stored import dump_message, load_message
from hub.messaging.texts import say
from hub.models.contract import Block, Message, Role, TextBlock
from hub.sessions.keys import SessionKey
from hub.storage.database import Database

EVENT_MESSAGE_RECEIVED = "message_received"
EVENT_MESSAGE_REJECTED = "message_rejected"
Answer = Callable[[], Awaitable[str]]
Hear = Callable[[str, Context], Awaitable[Answer | None]]
"""Returns what answers a text instead of an agent, or None when nothing does."""

REJECTED_KEPT = 5_000
"""Refused messages that are remembered, so that each is refused once."""
CLEAR_EVERY = 500


class Inbox:
    """Receives messages, decides about them and sees to it that each is answered once.

    Args:
        router: Decides about each message.
        tasks: Owner of the runs that answer.
    """

    def __init__(
        self,
        db: Database,
        router: Router,
        runner: AgentRunner,
        commands: Commands,
        outbox: Outbox,
        bus: EventBus,
        clock: Clock,
        tasks: TaskOwner,
    ) -> None:
        self._db = db
        self._router = router
        self._runner = runner
        self._commands = commands
        self._outbox = outbox
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._hear: Hear | None = None
        self._waiting: Counter[str] = Counter()
        self._rejected = 0

    def answer_with(self, hear: Hear) -> None:
        """Let something else answer a message before an agent does, such as an automation that waits for a sentence."""
        self._hear = hear

    async def receive(self, message: InboundMessage, context: Context) -> Receipt:
        """Take one message; when this returns it is on disk and may be acknowledged to the platform.

        Args:
            message: As the channel received it.
            context: Why; with the gateway's authority for its callers, with none for platforms.

        Returns:
            What was decided. A message seen before gets the first one's receipt, marked as a duplicate.

        Raises:
            InvalidRequest, NotFound: A client of the gateway named a session or agent that cannot be.
        """
        decided = self._router.decide(message, context)
        if isinstance(decided, Refused):
            return await self._reject(message, context, decided.reason, answer=decided.answer)
        if parsed := self._commands.parse(message.text):
            call = CommandCall(*parsed, message, decided.agent_id, decided.session_key, decided.context)
            return await self._at_once(message, decided, lambda: self._commands.run(call))
        if self._hear is not None and (answer := await self._hear(message.text, decided.context)) is not None:
            return await self._at_once(message, decided, answer)
        settings = self._router.settings
        if self._waiting[decided.session_key] >= settings.queue_limit:
            text = say("queue.full", settings.language, limit=settings.queue_limit)
            return await self._reject(message, context, text, answer=text)
        return await self._queue(message, decided)

    async def recover(self) -> int:
        """Take up what a stop or a crash left: queued messages are answered, interrupted ones and commands are told.

        Returns:
            How many messages are answered again.
        """
        recovered = await self._runner.recover()
        for run_id in recovered.interrupted:
            await self._tell_interrupted("run_id = ? AND state = 'queued'", run_id)
        await self._tell_interrupted("state = 'received'")
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, session_key, run_id, principal, context_id, parent_id, message FROM inbox"
                " WHERE state = 'queued' ORDER BY rowid"
            ).fetchall()
        )
        for inbox_id, session_key, run_id, principal, context_id, parent_id, stored in rows:
            message = load_message(stored)
            context = Context(Authority.from_dict(json.loads(principal)), context_id, parent_id)
            routed = Routed(SessionKey.parse(session_key).agent, session_key, context)
            self._waiting[session_key] += 1
            self._start(self._request(message, routed, inbox_id, run_id), message)
        return len(rows)

    async def _queue(self, message: InboundMessage, routed: Routed) -> Receipt:
        chosen = message.run_id if _is_authenticated(routed) else None
        inbox_id, run_id = new_id(), chosen or new_id()
        request = self._request(message, routed, inbox_id, run_id)
        session_key = routed.session_key

        def write(connection: sqlite3.Connection) -> Receipt | None:
            known = self._insert(connection, message, routed.context, inbox_id, "queued", None, session_key, run_id)
            if known is None:
                if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
                    raise Conflict(f"there is a run {run_id[:100]!r} already; choose another key for this message")
                self._runner.insert_queued(connection, request)
            return known

        started = False
        # Its place in the queue is taken before the disk is waited for, so that many at once cannot exceed the limit.
        self._waiting[session_key] += 1
        try:
            known = await self._db.write(write)
            if known is not None:
                return known
            self._told(message, inbox_id, session_key, routed.context)
            self._start(request, message)
            started = True
        finally:
            if not started:
                self._leave(session_key)
        return Receipt(inbox_id, accepted=True, session_key=session_key, run_id=run_id)

    def _request(self, message: InboundMessage, routed: Routed, inbox_id: str, run_id: str) -> RunRequest:
        options = message.options if _is_authenticated(routed) else {}
        content: tuple[Block, ...] = (TextBlock(message.text), *message.images)
        address = message.address

        def on_final(connection: sqlite3.Connection, result: RunResult) -> None:
            connection.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (inbox_id,))
            if text := self._answer(result):
                self._outbox.insert(
                    connection,
                    address,
                    text,
                    caused_by=routed.context.id,
                    session_key=routed.session_key,
                    run_id=run_id,
                    reply_to=message.message_id if address.chat_type is not ChatType.DIRECT else None,
                )

        return RunRequest(
            run_id=run_id,
            agent_id=routed.agent_id,
            session_key=routed.session_key,
            message=Message(Role.USER, content),
            context=routed.context,
            model=options.get("model"),
            thinking=options.get("thinking"),
            extra_system_prompt=options.get("extra_system_prompt"),
            timeout_s=options.get("timeout_s"),
            inbox_id=inbox_id,
            kind="message",
            sender_name=message.sender_name,
            channel=address.channel,
            on_final=on_final,
        )

    def _answer(self, result: RunResult) -> str | None:
        if result.status == "ok":
            return result.reply or None
        if result.status == "aborted":
            return None
        language = self._router.settings.language
        error = (result.error or {}).get("message") or result.status
        return "\n\n".join(filter(None, [result.reply, say("run.failed", language, error=error)]))

    def _start(self, request: RunRequest, message: InboundMessage) -> None:
        self._tasks.spawn(self._run(request, message), name=f"run {request.run_id}")

    async def _run(self, request: RunRequest, message: InboundMessage) -> None:
        try:
            await self._runner.run(request)
        finally:
            self._leave(request.session_key)
        self._outbox.notify(message.address)

    def _leave(self, session_key: str) -> None:
        self._waiting[session_key] -= 1
        if not self._waiting[session_key]:
            del self._waiting[session_key]

    async def _at_once(self, message: InboundMessage, routed: Routed, answer: Answer) -> Receipt:
        """Answer without a run: a command, or what something else makes of the text."""
        inbox_id, session_key, context = new_id(), routed.session_key, routed.context
        known = await self._db.write(
            lambda connection: self._insert(connection, message, context, inbox_id, "received", None, session_key, None)
        )
        if known is not None:
            return known
        self._told(message, inbox_id, session_key, context)
        reply = await answer()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE inbox SET state = 'command' WHERE id = ?", (inbox_id,))
            self._outbox.insert(connection, message.address, reply, caused_by=context.id, session_key=session_key)

        await self._db.write(write)
        self._outbox.notify(message.address)
        return Receipt(inbox_id, accepted=True, session_key=session_key, reply=reply)

    async def _reject(
        self, message: InboundMessage, context: Context, reason: str, *, answer: str | None = None
    ) -> Receipt:
        inbox_id = new_id()
        bare = replace(message, text="", images=()) if answer is None else message
        self._rejected += 1
        clear_up = self._rejected % CLEAR_EVERY == 0

        def write(connection: sqlite3.Connection) -> Receipt | None:
            if clear_up:
                _clear_rejected(connection)
            return self._insert(connection, bare, context, inbox_id, "rejected", reason, None, None)

        known = await self._db.write(write)
        if known is not None:
            return known
        self._bus.fire(EVENT_MESSAGE_REJECTED, _facts(message, inbox_id, None) | {"reason": reason}, context)
        if answer is not None:
            await self._outbox.send(message.address, answer, context)
        return Receipt(inbox_id, accepted=False, reason=reason, reply=answer)

    async def _tell_interrupted(self, which: str, *values: str) -> None:
        """Close inbox rows of what was interrupted, and tell the person that it was not done again."""
        text = say("run.interrupted", self._router.settings.language)

        def write(connection: sqlite3.Connection) -> list[Address]:
            rows = connection.execute(
                f"SELECT id, session_key, run_id, context_id, message FROM inbox WHERE {which}",  # noqa: S608  constants, above
                values,
            ).fetchall()
            addresses = [load_message(stored).address for *_, stored in rows]
            for (inbox_id, session_key, run_id, context_id, _), address in zip(rows, addresses, strict=True):
                connection.execute("UPDATE inbox SET state = 'done', reason = 'interrupted' WHERE id = ?", (inbox_id,))
                self._outbox.insert(
                    connection, address, text, caused_by=context_id, session_key=session_key, run_id=run_id
                )
            return addresses

        for address in await self._db.write(write):
            self._outbox.notify(address)

    def _insert(
        self,
        connection: sqlite3.Connection,
        message: InboundMessage,
        context: Context,
        inbox_id: str,
        state: str,
        reason: str | None,
        session_key: str | None,
        run_id: str | None,
    ) -> Receipt | None:
        """Write the row, or return the receipt of the one that is there."""
        address = message.address
        cursor = connection.execute(
            "INSERT INTO inbox(id, channel, account, peer, message_id, received_ms, state, reason, session_key, run_id,"
            " principal, context_id, parent_id, message) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
            " ON CONFLICT(channel, account, peer, message_id) DO NOTHING",
            (
                inbox_id,
                address.channel,
                address.account,
                address.peer,
                message.message_id,
                int(self._clock.time() * 1000),
                state,
                reason,
                session_key,
                run_id,
                json.dumps(context.authority.as_dict()),
                context.id,
                context.parent_id,
                dump_message(message),
            ),
        )
        if cursor.rowcount:
            return None
        found = connection.execute(
            "SELECT id, state, reason, session_key, run_id FROM inbox"
            " WHERE channel = ? AND account = ? AND peer = ? AND message_id = ?",
            (address.channel, address.account, address.peer, message.message_id),
        ).fetchone()
        return Receipt(found[0], found[1] != "rejected", True, found[2], found[3], found[4])

    def _told(self, message: InboundMessage, inbox_id: str, session_key: str, context: Context) -> None:
        facts = _facts(message, inbox_id, session_key)
        facts["chat_type"] = message.address.chat_type.value
        facts["from_owner"] = context.authority.owner
        facts["sender_name"] = message.sender_name
        facts["text"] = message.text  # for automations; history keeps none of it
        self._bus.fire(EVENT_MESSAGE_RECEIVED, facts, context)


def _clear_rejected(connection: sqlite3.Connection) -> None:
    """Forget the oldest refused messages: anybody can send those, and no disk holds them all."""
    connection.execute(
        "DELETE FROM inbox WHERE state = 'rejected' AND rowid <= (SELECT rowid FROM inbox WHERE state = 'rejected'"
        " ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
        (REJECTED_KEPT,),
    )


def _is_authenticated(routed: Routed) -> bool:
    """Whether the gateway knows who asks, or an owner does: nobody else chooses model, prompt or run id."""
    return bool(routed.context.authority.scopes)


def _facts(message: InboundMessage, inbox_id: str, session_key: str | None) -> dict[str, Any]:
    return {
        "inbox_id": inbox_id,
        "channel": message.address.channel,
        "account": message.address.account,
        "peer": message.address.peer,
        "sender": message.sender,
        "session_key": session_key,
        "text_chars": len(message.text),
    }
