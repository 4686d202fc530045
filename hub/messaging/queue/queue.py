"""The queue of a session: accepted messages wait here for their turn, and each is answered once.

A message's row and the row of the run that may answer it are written in one transaction, and so are the end of a run,
the rows of all messages that it answered, and the reply. Which messages a turn answers is decided in
`hub.messaging.queue.waiting`. A run that a client of the gateway named ends as the one that answers its message.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from hub.agent.run_request import RunOutcome, SteeredMessage, Steering
from hub.agent.runner import AgentRunner
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.core.tasks import TaskOwner
from hub.messaging.access.decide import Accept
from hub.messaging.access.router import Router
from hub.messaging.contract import Address, ClientMessage, InboundEvent, InboundMessage, Receipt
from hub.messaging.inbox import inbox_rows
from hub.messaging.inbox.inbox_rows import InboxRow
from hub.messaging.inbox.media_store import MediaStore
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.queue import group_history
from hub.messaging.queue.queue_policy import DropPolicy, QueueMode, QueuePolicy
from hub.messaging.queue.queue_recovery import resumable
from hub.messaging.queue.quotes import quoted_line, quoted_lines
from hub.messaging.queue.turn import Turn, TurnRequests, queued_request
from hub.messaging.queue.typing_indicator import TypingIndicators
from hub.messaging.queue.waiting import (
    Conversation,
    Timing,
    TurnRules,
    WaitingMessage,
    client_named,
    conversation_of,
    flush,
    ids_of,
    next_turn,
    own_run,
    revise,
    set_due,
    steerable,
)
from hub.models.contract import Usage
from hub.storage.database import Database

_log = logging.getLogger(__name__)

RETRY_S = 2.0
"""Wait before what could not be written is tried again."""
MENTIONED_LIMIT = 50
"""Dropped messages that the next turn mentions; older ones it does not."""
STEERING = (QueueMode.STEER, QueueMode.STEER_BACKLOG)


class MessageQueue:
    """Runs agents for accepted messages, and passes their replies to the outbox.

    Args:
        router: The router with the current settings.
        tasks: Owner of the runs.
    """

    def __init__(
        self,
        db: Database,
        router: Router,
        runner: AgentRunner,
        outbox: Outbox,
        media: MediaStore,
        *,
        clock: Clock,
        tasks: TaskOwner,
    ) -> None:
        self._db = db
        self._router = router
        self._runner = runner
        self._outbox = outbox
        self._clock = clock
        self._tasks = tasks
        self._sessions = runner.parts.sessions
        self._requests = TurnRequests(router, outbox, media, runner.parts)
        self._typing = TypingIndicators(outbox.channels, clock, tasks)
        self._waiting: dict[str, list[WaitingMessage]] = {}
        self._running: dict[str, list[Turn]] = {}
        self._entering: Counter[tuple[str, Conversation]] = Counter()
        self._wakers: dict[str, asyncio.Task[None]] = {}
        self._early: set[str] | None = set()  # rows of messages that came before `recover`, which holds up their turns
        runner.on_drop(self._drop)

    # -- what comes in ---------------------------------------------------------------------------------------------

    def refuses(self, accepted: Accept) -> int | None:
        """Return the limit of waiting messages if it is reached, else None."""
        if not self._waiting.get(accepted.session_key) and not self._entering:
            return None
        policy = self._policy(accepted.session_key, accepted.message.address)
        if policy.drop is not DropPolicy.NEW:
            return None
        conversation = conversation_of(accepted.message.address)
        entering = self._entering[accepted.session_key, conversation]
        return policy.cap if len(self._kept(accepted.session_key, conversation)) + entering >= policy.cap else None

    async def add(self, accepted: Accept) -> Receipt:
        """Queue a message; it is on disk when this returns.

        Raises:
            Conflict: A client chose the id of a run that exists.
        """
        message, session_key = accepted.message, accepted.session_key
        chosen = own_run(message)
        fresh = WaitingMessage(new_id(), chosen or new_id(), message, accepted.context, int(self._clock.time() * 1000))
        facts = (fresh.row_id, message, fresh.context, "queued", None, session_key, fresh.run_id, fresh.received_ms)
        row = InboxRow(*facts, accepted.part)
        queued = queued_request(session_key, fresh)
        if self._early is not None:
            self._early.add(fresh.row_id)

        def write(connection: SqlConnection) -> Receipt | None:
            known = inbox_rows.insert(connection, row)
            if known is None:
                if chosen and connection.execute("SELECT 1 FROM runs WHERE id = ?", (chosen,)).fetchone():
                    raise Conflict(f"there is a run {chosen!r:.100} already; choose another key for this message")
                self._runner.insert_queued(connection, queued)
                fresh.overheard = group_history.give(connection, session_key, fresh.run_id)
                fresh.quote = quoted_line(connection, message, fresh.context.authority.person)
            return known

        # Its place is taken before the disk is waited for, so that many at once cannot exceed the limit.
        place = (session_key, fresh.conversation)
        self._entering[place] += 1
        try:
            known = await self._db.write(write)
        finally:
            self._entering -= Counter([place])
        if known is None:
            self._typing.show(message.address)
            self._take_in(session_key, fresh)
        return known or Receipt(fresh.row_id, accepted=True, session_key=session_key, run_id=fresh.run_id)

    def flush(self, session_key: str, address: Address, sender: str) -> None:
        """Answer a sender's messages now, without waiting for more."""
        flush(self._waiting.get(session_key, ()), conversation_of(address), sender, self._clock.monotonic())
        self._pump(session_key)

    def revise(self, event: InboundEvent) -> Callable[[SqlConnection], None]:
        """Edit or drop a waiting message, because its sender did; return the database work for it."""
        for session_key, waiting in self._waiting.items():
            for each in waiting:
                if (fresh := revise(each, event)) is None:
                    continue
                if fresh.text:
                    each.message = fresh
                    return partial(inbox_rows.rewrite, id=each.row_id, message=fresh)
                waiting.remove(each)
                self._tell_given_up(session_key, [each])
                self._settle(session_key, event.address)
                return partial(inbox_rows.give_up, rows=ids_of([each]), reason="deleted", now_ms=self._now_ms())
        return partial(group_history.revise_overheard, event=event)

    async def recover(self) -> int:
        """Resume after a stop or a crash: queued messages are answered, senders of interrupted ones are notified.

        Returns:
            The number of messages that are answered again.
        """
        recovered = await self._runner.recover()
        for run_id in recovered.interrupted:
            await self._tell_interrupted(run_id, recovered.heard_by[run_id])
        await self._tell_interrupted(None)
        rows = [row for row in await self._db.read(inbox_rows.queued_messages) if row.id not in (self._early or ())]
        overheard = await self._db.read(
            partial(group_history.overheard_by_run, run_ids=[row.run_id for row in rows if row.run_id is not None])
        )
        quotes = await self._db.read(partial(quoted_lines, rows=rows))
        begun, waiting = resumable(rows, {*recovered.heard, *recovered.completed}, overheard, quotes)
        early, self._waiting, self._early = self._waiting, {}, None
        for turn in begun:
            self._start(turn)
        for session_key, each in waiting:
            self._waiting.setdefault(session_key, []).append(each)
            self._typing.show(each.message.address)
        for session_key, later in early.items():
            self._waiting.setdefault(session_key, []).extend(later)
        for session_key in list(self._waiting):
            self._pump(session_key)
        return len(rows)

    def close(self) -> None:
        """Begin no more turns; waiting messages are answered after the next start."""
        self._waiting.clear()
        self._early = set()  # what arrives from here on is kept, and begins no turn
        for waker in self._wakers.values():
            waker.cancel()
        self._typing.close()

    # -- turns -----------------------------------------------------------------------------------------------------

    def _take_in(self, session_key: str, fresh: WaitingMessage) -> None:
        address = fresh.message.address
        policy = self._policy(session_key, address, fresh.message)
        running = self._running.get(session_key, ())
        if policy.mode is QueueMode.INTERRUPT:
            for each in running:
                each.stopped = not self._runner.abort(run_id=each.run_id) and not each.begun
        waiting = self._waiting.setdefault(session_key, [])
        timing = Timing(
            inbound_ms=self._requests.gap_ms(address.channel),
            busy_ms=policy.debounce_ms if running and policy.mode is not QueueMode.INTERRUPT else 0,
        )
        set_due(waiting, fresh, timing, self._clock.monotonic())
        waiting.append(fresh)
        if len(waiting) > min(policy.cap, MENTIONED_LIMIT):
            self._drop_over(session_key, fresh.conversation, policy)
        self._pump(session_key)

    def _drop_over(self, session_key: str, conversation: Conversation, policy: QueuePolicy) -> None:
        """Drop the oldest waiting messages above the limit."""
        gone: list[WaitingMessage] = []
        for each in self._kept(session_key, conversation)[: -policy.cap]:
            each.dropped = policy.drop is DropPolicy.SUMMARIZE
            gone += [] if each.dropped else [each]
            if each.dropped:
                self._db.post(partial(inbox_rows.join, run_id=each.run_id, rows=ids_of([each]), reason="dropped"))
        here = self._here(session_key, conversation)
        gone += [each for each in here if each.dropped][:-MENTIONED_LIMIT]
        if gone:
            _log.info("%d messages of %s gave way to newer ones", len(gone), session_key)
            self._give_up(session_key, gone, "dropped")

    def _pump(self, session_key: str) -> None:
        """Begin the next turn of a session unless one is running."""
        waiting = self._waiting.get(session_key)
        if not waiting or self._running.get(session_key) or self._tasks.closed or self._early is not None:
            return
        now = self._clock.monotonic()
        found = next_turn(waiting, partial(self._rules, session_key), now)
        if found is None:
            self._wake_in(session_key, min((each.due for each in waiting if not each.dropped), default=now) - now)
            return
        gone = (*found.messages, *found.superseded)
        if len(gone) == len(waiting):
            del self._waiting[session_key]
        else:
            self._waiting[session_key] = [each for each in waiting if each not in gone]
        self._start(Turn(session_key, found.messages, found.superseded, begun=len(gone) == 1))

    def _start(self, turn: Turn) -> None:
        running = self._running.setdefault(turn.session_key, [])
        running += [] if turn in running else [turn]
        self._tasks.spawn(self._run(turn), name=f"run {turn.run_id}")

    async def _run(self, turn: Turn) -> None:
        try:
            if not turn.begun and not await self._join(turn):
                return
            steering = Steering(lambda: bool(self._steerable(turn)), partial(self._steer, turn))
            result = await self._runner.run_until_kept(self._requests.of(turn, steering))
            for run_id, each in turn.joined_messages:
                self._runner.settle(replace(result, run_id=run_id, usage=Usage()), each.context)
        finally:
            self._leave(turn)
        self._outbox.notify(turn.address, turn.written)

    async def _join(self, turn: Turn) -> bool:
        """Record which messages a turn answers; return whether it is to run."""

        def write(connection: SqlConnection) -> None:
            if turn.stopped:
                inbox_rows.give_up(connection, ids_of(turn.messages), "aborted", self._now_ms())
            else:
                inbox_rows.join(connection, turn.run_id, ids_of(turn.messages))
            inbox_rows.give_up(connection, ids_of(turn.superseded), "superseded", self._now_ms())

        while True:
            try:
                await self._db.write(write)
            except HubError as error:
                _log.error("a turn of %s waits %g s: %s", turn.session_key, RETRY_S, error.message)
                await self._clock.sleep(RETRY_S)
                continue
            if turn.stopped:
                self._db.post(write)  # it was stopped meanwhile, perhaps
                self._tell_given_up(turn.session_key, (*turn.messages, *turn.superseded))
                return False
            turn.begun = True
            self._tell_given_up(turn.session_key, turn.superseded)
            return True

    def _leave(self, turn: Turn) -> None:
        running = self._running[turn.session_key]
        running.remove(turn)
        if not running:
            del self._running[turn.session_key]
        self._pump(turn.session_key)
        self._settle(turn.session_key, turn.address)

    def _settle(self, session_key: str, address: Address) -> None:
        """Release resources once nothing waits any more."""
        if not self._waiting.get(session_key):
            self._waiting.pop(session_key, None)
            if (waker := self._wakers.pop(session_key, None)) is not None:
                waker.cancel()
        conversation = conversation_of(address)
        running = self._running.get(session_key, ())
        if session_key in self._waiting and self._here(session_key, conversation):
            return
        if not running or all(conversation_of(turn.address) != conversation for turn in running):
            self._typing.hide(address)

    def _wake_in(self, session_key: str, seconds: float) -> None:
        if (waker := self._wakers.pop(session_key, None)) is not None:
            waker.cancel()
        if seconds <= 0:  # only what gave way is left: the next turn mentions it
            return

        async def wake() -> None:
            await self._clock.sleep(seconds)
            self._wakers.pop(session_key, None)
            self._pump(session_key)

        self._wakers[session_key] = self._tasks.spawn(wake(), name=f"wait for more of {session_key}")

    def _drop(self, session_key: str | None, run_id: str | None) -> list[str]:
        """Drop the waiting messages of a session, or of one run; return their runs."""
        dropped: list[str] = []
        for key in list(self._waiting) if session_key is None else [session_key]:
            gone = [each for each in self._waiting.get(key, ()) if run_id in (None, each.run_id)]
            for turn in self._running.get(key, ()):
                turn.stopped = turn.stopped or (not turn.begun and run_id in (None, turn.run_id))
            if gone:
                self._give_up(key, gone, "aborted")
            for each in gone:
                self._settle(key, each.message.address)
            dropped += [each.run_id for each in gone if not each.dropped]
        return dropped

    def _give_up(self, session_key: str, gone: Sequence[WaitingMessage], reason: str) -> None:
        self._waiting[session_key] = [each for each in self._waiting[session_key] if each not in gone]
        self._db.post(partial(inbox_rows.give_up, rows=ids_of(gone), reason=reason, now_ms=self._now_ms()))
        self._tell_given_up(session_key, gone)

    def _tell_given_up(self, session_key: str, gone: Sequence[WaitingMessage]) -> None:
        """Tell clients that the runs they named end without an answer."""
        for run_id, each in client_named(gone):
            self._runner.settle(RunOutcome.aborted().of(run_id, session_key), each.context)

    # -- steering --------------------------------------------------------------------------------------------------

    def _steerable(self, turn: Turn) -> list[WaitingMessage]:
        """Return waiting messages that a running turn may hear: of its conversation, with equal rights."""
        key, address = turn.session_key, turn.address
        if not (waiting := self._waiting.get(key)):
            return []
        found = steerable(waiting, turn.first)
        return [each for each in found if self._policy(key, address, each.message).mode in STEERING]

    async def _steer(self, turn: Turn) -> Sequence[SteeredMessage]:
        """Return the messages for a running turn, which then answers them."""
        again, turn.heard = turn.heard, ()
        found, key = self._steerable(turn), turn.session_key
        if not found and not again:
            return ()
        taken = [each for each in found if self._policy(key, turn.address, each.message).mode is QueueMode.STEER]
        if taken:
            self._waiting[key] = [each for each in self._waiting[key] if each not in taken]
            try:
                await self._db.write(partial(inbox_rows.join, run_id=turn.run_id, rows=ids_of(taken), reason="steered"))
            except HubError as error:
                _log.error("messages wait for the end of run %s: %s", turn.run_id, error.message)
                self._waiting.setdefault(key, [])[:0] = taken
                found = [each for each in found if each not in taken]
        turn.steered += tuple(each for each in found if each in taken)
        for each in found:
            each.steered = True
        return [await self._requests.steered_message(each, turn) for each in (*again, *found)]

    # -- what is known ---------------------------------------------------------------------------------------------

    def _policy(self, session_key: str, address: Address, message: InboundMessage | None = None) -> QueuePolicy:
        said = message.options.get("queue") if isinstance(message, ClientMessage) else None
        session = None if said else self._sessions.get(session_key)
        return self._router.settings.queue.of(address.channel, session.queue if session is not None else said)

    def _rules(self, session_key: str, message: InboundMessage) -> TurnRules:
        policy = self._policy(session_key, message.address, message)
        return TurnRules(policy.mode, self._requests.gap_ms(message.address.channel))

    def _here(self, session_key: str, conversation: Conversation) -> list[WaitingMessage]:
        return [each for each in self._waiting.get(session_key, ()) if each.conversation == conversation]

    def _kept(self, session_key: str, conversation: Conversation) -> list[WaitingMessage]:
        return [each for each in self._here(session_key, conversation) if not each.dropped]

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)

    async def _tell_interrupted(self, run_id: str | None, heard: frozenset[str] | None = None) -> None:
        insert = self._runner.insert_queued
        for address in await self._db.write(
            partial(self._requests.close_interrupted, run_id=run_id, heard=heard, insert=insert)
        ):
            self._outbox.notify(address)
