"""The queue of a session: accepted messages wait here for their run, and each is answered once.

A message's row and its run's row are written in one transaction, and so are the end of the run and the reply.
"""

from __future__ import annotations

from collections import Counter

from hub.agent.run_request import RunRequest, RunResult
from hub.agent.runner import AgentRunner
from hub.core.clock import Clock
from hub.core.errors import Conflict
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging import inbox_rows
from hub.messaging.content import content_of
from hub.messaging.contract import Address, ChatType, ClientMessage, InboundMessage, Receipt
from hub.messaging.decide import Accept
from hub.messaging.inbox_rows import InboxRow
from hub.messaging.media_store import MediaStore
from hub.messaging.router import Router
from hub.messaging.seams import ReplyOutbox
from hub.messaging.texts import say
from hub.models.contract import Message, Role
from hub.sessions.keys import SessionKey
from hub.storage.database import Database


class MessageQueue:
    """Runs agents for accepted messages, and hands their replies to the outbox.

    Args:
        router: Has the current settings.
        tasks: Owner of the runs.
    """

    def __init__(
        self,
        db: Database,
        router: Router,
        runner: AgentRunner,
        outbox: ReplyOutbox,
        media: MediaStore,
        *,
        clock: Clock,
        tasks: TaskOwner,
    ) -> None:
        self._db = db
        self._router = router
        self._runner = runner
        self._outbox = outbox
        self._media = media
        self._clock = clock
        self._tasks = tasks
        self._waiting: Counter[str] = Counter()

    def is_full(self, session_key: str) -> bool:
        """Whether as many messages of a session wait as may."""
        return self._waiting[session_key] >= self._router.settings.queue_limit

    async def add(self, accepted: Accept) -> Receipt:
        """Queue a message; it is on disk when this returns.

        Raises:
            Conflict: A client chose the id of a run that exists.
        """
        message, session_key = accepted.message, accepted.session_key
        chosen = message.run_id if isinstance(message, ClientMessage) else None
        inbox_id, run_id = new_id(), chosen or new_id()
        row = InboxRow(inbox_id, message, accepted.context, "queued", None, session_key, run_id)
        request = self._request(row, accepted.agent_id)

        def write(connection: SqlConnection) -> Receipt | None:
            known = inbox_rows.insert(connection, row, int(self._clock.time() * 1000))
            if known is None:
                if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone():
                    raise Conflict(f"there is a run {run_id[:100]!r} already; choose another key for this message")
                self._runner.insert_queued(connection, request)
            return known

        # Its place is taken before the disk is waited for, so that many at once cannot exceed the limit.
        self._waiting[session_key] += 1
        known: Receipt | None = None
        started = False
        try:
            known = await self._db.write(write)
            if known is None:
                self._start(request, message.address)
                started = True
        finally:
            if not started:
                self._leave(session_key)
        return known or Receipt(inbox_id, accepted=True, session_key=session_key, run_id=run_id)

    async def recover(self) -> int:
        """Resume after a stop or a crash: queued messages are answered, senders of interrupted ones are notified.

        Returns:
            How many messages are answered again.
        """
        recovered = await self._runner.recover()
        for run_id in recovered.interrupted:
            await self._tell_interrupted(run_id)
        await self._tell_interrupted(None)
        rows = await self._db.read(inbox_rows.queued)
        for row in rows:
            session_key = row.session_key or ""
            self._waiting[session_key] += 1
            self._start(self._request(row, SessionKey.parse(session_key).agent), row.inbound.address)
        return len(rows)

    def _request(self, row: InboxRow, agent_id: str) -> RunRequest:
        message, context = row.inbound, row.context
        if not isinstance(message, InboundMessage) or row.session_key is None or row.run_id is None:
            raise AssertionError("only messages are queued")
        options = message.options if isinstance(message, ClientMessage) else {}
        session_key, run_id, address = row.session_key, row.run_id, message.address

        def on_final(connection: SqlConnection, result: RunResult) -> None:
            inbox_rows.close(connection, row.id, "done")
            if text := self._answer(result):
                self._outbox.insert(
                    connection,
                    address,
                    text,
                    caused_by=context.id,
                    session_key=session_key,
                    run_id=run_id,
                    reply_to=message.message_id if address.chat_type is not ChatType.DIRECT else None,
                )

        async def load() -> Message:
            return Message(Role.USER, content_of(await self._media.fetched(message, agent_id, session_key)))

        return RunRequest(
            run_id=run_id,
            agent_id=agent_id,
            session_key=session_key,
            message=Message(Role.USER, content_of(message)),
            context=context,
            model=options.get("model"),
            thinking=options.get("thinking"),
            extra_system_prompt=options.get("extra_system_prompt"),
            timeout_s=options.get("timeout_s"),
            inbox_id=row.id,
            kind="message",
            sender_name=message.sender_name,
            channel=address.channel,
            on_final=on_final,
            load=load if message.media else None,
        )

    def _answer(self, result: RunResult) -> str | None:
        if result.status == "ok":
            return result.reply or None
        if result.status == "aborted":
            return None
        language = self._router.settings.language
        error = (result.error or {}).get("message") or result.status
        return "\n\n".join(filter(None, [result.reply, say("run.failed", language, error=error)]))

    def _start(self, request: RunRequest, address: Address) -> None:
        self._tasks.spawn(self._run(request, address), name=f"run {request.run_id}")

    async def _run(self, request: RunRequest, address: Address) -> None:
        try:
            await self._runner.run(request)
        finally:
            self._leave(request.session_key)
        self._outbox.notify(address)

    def _leave(self, session_key: str) -> None:
        self._waiting[session_key] -= 1
        if not self._waiting[session_key]:
            del self._waiting[session_key]

    async def _tell_interrupted(self, run_id: str | None) -> None:
        """Close inbox rows of interrupted messages, and tell the sender that it was not done again."""
        text = say("run.interrupted", self._router.settings.language)

        def write(connection: SqlConnection) -> list[Address]:
            found = inbox_rows.interrupted(connection, run_id=run_id)
            for each in found:
                inbox_rows.close(connection, each.id, "done", "interrupted")
                self._outbox.insert(
                    connection,
                    each.address,
                    text,
                    caused_by=each.context_id,
                    session_key=each.session_key,
                    run_id=each.run_id,
                )
            return [each.address for each in found]

        for address in await self._db.write(write):
            self._outbox.notify(address)
