"""The inbox: every message and event enters the hub here, and is on disk before it is acknowledged."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence, Sized
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.messaging.access.decide import Accept, Notice, Overheard, Refuse
from hub.messaging.access.pairing import shown_name
from hub.messaging.access.router import Router
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.reading import with_options
from hub.messaging.commands.registry import CommandCall, CommandReply, Commands
from hub.messaging.contract import ButtonPressed, Inbound, InboundEvent, InboundMessage, MessageDeleted, Receipt
from hub.messaging.inbox import inbox_rows
from hub.messaging.inbox.feedback import FEEDBACK, Feedback, feedback
from hub.messaging.inbox.inbox_rows import InboxRow, load_event
from hub.messaging.inbox.interceptor import Answer, Interceptor
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.queue import group_history
from hub.messaging.queue.queue import MessageQueue
from hub.messaging.queue.turn import BY_HUB
from hub.messaging.texts import say
from hub.storage.database import Database

EVENT_MESSAGE_RECEIVED = "message_received"
EVENT_MESSAGE_REJECTED = "message_rejected"
EVENT_COMMAND_RECEIVED = "command_received"
StrangerHandler = Callable[[Inbound], Awaitable[bool]]
"""Offers a stranger to be let in; returns whether they are answered."""
Queued = Callable[[Accept], Awaitable[None]]

CLEAR_EVERY = 500
BEFORE_RESTORE = "it was sent before the home was restored from a backup"


class Inbox:
    """Receives messages and events, and acts on the decision about each.

    Args:
        router: Decides about messages and events.
        queue: Sees to it that accepted messages are answered.
        commands: Answers slash commands.
        buttons: Makes buttons of what a command offers.
    """

    def __init__(
        self,
        db: Database,
        router: Router,
        queue: MessageQueue,
        commands: Commands,
        outbox: Outbox,
        *,
        buttons: CommandButtons,
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._db = db
        self._buttons = buttons
        self._router = router
        self._queue = queue
        self._commands = commands
        self._outbox = outbox
        self._bus = bus
        self._clock = clock
        self._interceptors: list[Interceptor] = []
        self._handle_stranger: StrangerHandler | None = None
        self._tell_queued: Queued | None = None
        self._holding_up: Sized = ()
        self._rejected = 0

    def add_interceptor(self, interceptor: Interceptor) -> None:
        """Add an interceptor that may answer messages before an agent does; asked in order of addition."""
        self._interceptors.append(interceptor)

    def tell_queued_with(self, queued: Queued, pending: Sized) -> None:
        """Set the notifier for senders of queued messages; unused while `pending` is empty."""
        self._tell_queued, self._holding_up = queued, pending

    def handle_strangers_with(self, handle: StrangerHandler) -> None:
        """Set the handler for strangers whose policy is `pairing`."""
        self._handle_stranger = handle

    async def receive(self, inbound: Inbound, context: Context) -> Receipt:
        """Take one message or event; when this returns it is on disk and may be acknowledged to the platform.

        For the gateway, and for the registry of channels, which gives each channel its own receiver without authority.

        Args:
            inbound: The message or event; a `ClientMessage` of a caller whom the gateway authenticated may choose more.
            context: Carries the caller's authority, or that of a peer.

        Returns:
            The decision. A repeated message gets the first one's receipt, marked as a duplicate.

        Raises:
            InvalidRequest, NotFound: A client names a session or agent that does not exist.
            Conflict: It names the id of a run that exists.
        """
        if isinstance(inbound, InboundMessage) and (inbound.sent_at or math.inf) * 1000 < self._db.restored_ms:
            # What a platform delivers again since an older read position was restored has been answered before.
            return await self._reject(inbound, context, BEFORE_RESTORE)
        if isinstance(inbound, MessageDeleted):  # whoever did it: a message of ours is not there to be changed
            forget = partial(outbox_rows.forget_sent, address=inbound.address, platform_id=inbound.message_id)
            await self._db.write(forget)
        match self._router.decide(inbound, context):
            case Refuse() as refused:
                return await self._refuse(inbound, context, refused)
            case Overheard() as overheard:
                return await self._overhear(overheard)
            case Notice(allowed):
                return await self._note(inbound, allowed)
            case CommandCall() as call:
                return await self._command(call, context)
            case Accept() as accepted:
                return await self._accept(accepted)

    async def recover(self) -> int:
        """Resume after a stop or a crash; return the number of messages answered again."""
        for inbox_id, stored, context in await self._db.read(inbox_rows.unpublished_events):
            event = load_event(stored)
            found = await self._feedback(event)
            await self._pressed(event, found, context)
            self._tell_event(found.event if found is not None else event, inbox_id, context)
        return await self._queue.recover()

    async def _accept(self, accepted: Accept) -> Receipt:
        """Queue a message for its agent, or each agent of a broadcast; return the first receipt.

        What a crash keeps from being queued for the others comes again: each has a row of its own.
        """
        for each in self._interceptors:
            if each.pending and (answer := await each.intercept(accepted)) is not None:
                return await self._at_once(accepted, answer)
        return await self._queue_for_all(accepted)

    async def _queue_for_all(self, accepted: Accept) -> Receipt:
        receipt = await self._queue_for_one(accepted)
        for agent_id, session_key in accepted.also:
            part = replace(accepted, agent_id=agent_id, session_key=session_key, also=(), part=agent_id)
            if self._queue.refuses(part) is None:
                await self._queue.add(part)
        return receipt

    async def _queue_for_one(self, accepted: Accept) -> Receipt:
        message, context = accepted.message, accepted.context
        if (limit := self._queue.refuses(accepted)) is not None:
            text = say("queue.full", self._router.settings.language, limit=limit)
            return await self._reject(message, context, text, answer=text)
        receipt = await self._queue.add(accepted)
        if not receipt.duplicate:
            self._tell_received(accepted, receipt.inbox_id)
            if self._tell_queued is not None and self._holding_up:
                await self._tell_queued(accepted)
            if accepted.at_once is not None:
                self._tell_command(accepted.at_once)
                reply = await self._commands.run(accepted.at_once)
                content = self._buttons.message(message.address, reply)
                await self._outbox.send(message.address, content, context, session_key=accepted.session_key)
                return replace(receipt, reply=reply.as_text())
        return receipt

    async def _command(self, call: CommandCall, context: Context) -> Receipt:
        """Run a command; any rest for the agent is received as a message of its own."""
        opened = await self._open(call)
        if opened.duplicate:
            return opened
        self._tell_command(call)
        reply = await self._commands.run(call)
        if reply.message is None:
            return await self._answer(call, opened, reply)
        rest = replace(_further(call.message), text=reply.message)
        receipt = await self.receive(with_options(rest, {BY_HUB: True}) if reply.by_hub else rest, context)
        if reply.by_hub:  # nothing that a person writes is answered together with it
            self._queue.flush(call.session_key, rest.address, rest.sender)
        await self._db.write(lambda connection: inbox_rows.close(connection, opened.inbox_id, "command"))
        return receipt

    async def _at_once(self, accepted: Accept, answer: Answer) -> Receipt:
        """Answer without a run, by an interceptor."""
        opened = await self._open(accepted)
        if opened.duplicate:
            return opened
        reply = await answer()
        if reply is not None:
            return await self._answer(accepted, opened, CommandReply(reply))
        receipt = await self._queue_for_all(replace(accepted, message=_further(accepted.message)))
        await self._db.write(lambda connection: inbox_rows.close(connection, opened.inbox_id, "command"))
        return receipt

    async def _open(self, accepted: Accept | CommandCall) -> Receipt:
        """Insert the row of a message that is answered at once, and publish it."""
        inbox_id, session_key = new_id(), accepted.session_key
        row = InboxRow(inbox_id, accepted.message, accepted.context, "received", None, session_key)
        known = await self._insert(row)
        self._queue.flush(session_key, accepted.message.address, accepted.message.sender)
        if known is None:
            self._tell_received(accepted, inbox_id)
        return known or Receipt(inbox_id, accepted=True, session_key=session_key)

    async def _answer(self, accepted: Accept | CommandCall, opened: Receipt, reply: CommandReply) -> Receipt:
        address, context, session_key = accepted.message.address, accepted.context, accepted.session_key
        content = self._buttons.message(address, reply)

        def write(connection: SqlConnection) -> None:
            inbox_rows.close(connection, opened.inbox_id, "command")
            self._outbox.insert(connection, address, content, caused_by=context.id, session_key=session_key)

        await self._db.write(write)
        self._outbox.notify(address)
        return replace(opened, reply=reply.as_text())

    async def _note(self, inbound: Inbound, context: Context) -> Receipt:
        """Publish an event at least once: after a crash, it is published at the next start.

        What is done to a message of ours reaches its conversation too, once: a pressed button as a
        message, a vote or a reaction beside the next one.
        """
        if not isinstance(inbound, InboundEvent):
            raise TypeError(f"{type(inbound).__name__} is not an event")
        inbox_id = new_id()
        found = await self._feedback(inbound)
        kept = self._queue.revise(inbound) if found is None else self._beside_the_next(found, context)
        known = await self._insert(InboxRow(inbox_id, inbound, context, "event"), kept)
        if known is not None:
            return known
        notice = await self._pressed(inbound, found, context)
        self._tell_event(found.event if found is not None else inbound, inbox_id, context)
        return Receipt(inbox_id, accepted=True, notice=notice)

    async def _feedback(self, event: InboundEvent) -> Feedback | None:
        return await self._db.read(partial(feedback, event=event)) if isinstance(event, FEEDBACK) else None

    async def _pressed(self, event: InboundEvent, found: Feedback | None, context: Context) -> str | None:
        """Let a pressed button begin a turn; return the reason if it does nothing, for the person."""
        if not isinstance(event, ButtonPressed):
            return None
        language = self._router.settings.language
        if found is None or found.words is None:
            return say("button.gone", language)
        accepted = self._router.accept_verbatim(*found.message(context), found.session_key)
        if (limit := self._queue.refuses(accepted)) is not None:
            return say("queue.full", language, limit=limit)
        receipt = await self._queue_for_all(accepted)
        for key in (accepted.session_key, *(key for _, key in accepted.also)):
            self._queue.flush(key, event.address, event.sender)
        return say("button.twice", language) if receipt.duplicate else None

    def _beside_the_next(self, found: Feedback, context: Context) -> Callable[[SqlConnection], None] | None:
        """Return a function that keeps a vote or a reaction for the next turn of the conversation."""
        if isinstance(found.event, ButtonPressed):
            return None
        message, told = found.message(context)
        accepted = self._router.accept_verbatim(message, told, found.session_key)
        person = None if told.authority.tainted else told.authority.person
        keys = (accepted.session_key, *(key for _, key in accepted.also))
        limit = accepted.group.history_limit if accepted.group is not None else None
        return self._keep_for_context(message, person, keys, limit or None)

    async def _refuse(self, inbound: Inbound, context: Context, refused: Refuse) -> Receipt:
        receipt = await self._reject(inbound, context, refused.reason, answer=refused.answer)
        if isinstance(inbound, ButtonPressed):
            return replace(receipt, notice=say("button.refused", self._router.settings.language))
        if refused.may_pair and not receipt.duplicate and self._handle_stranger is not None:
            await self._handle_stranger(inbound)
        return receipt

    async def _overhear(self, overheard: Overheard) -> Receipt:
        """Keep a group message as context for the next answer there."""
        message, context = overheard.message, overheard.context
        person, keys = context.authority.person, overheard.session_keys
        keep = self._keep_for_context(message, person, keys, overheard.group.history_limit)
        return await self._reject(message, context, overheard.reason, further=keep)

    def _keep_for_context(
        self, message: InboundMessage, person: str | None, session_keys: Sequence[str], limit: int | None
    ) -> Callable[[SqlConnection], None]:
        limit, now_ms = group_history.HISTORY_LIMIT if limit is None else limit, int(self._clock.time() * 1000)

        def keep(connection: SqlConnection) -> None:
            for key in session_keys:
                group_history.keep(connection, key, message, person, limit=limit, received_ms=now_ms)

        return keep

    async def _reject(
        self,
        inbound: Inbound,
        context: Context,
        reason: str,
        *,
        answer: str | None = None,
        further: Callable[[SqlConnection], None] | None = None,
    ) -> Receipt:
        inbox_id = new_id()
        self._rejected += 1
        if self._rejected % CLEAR_EVERY == 0:
            self._db.post(inbox_rows.delete_rejected)
        known = await self._insert(InboxRow(inbox_id, _without_words(inbound), context, "rejected", reason), further)
        if known is not None:
            return known
        self._bus.fire(EVENT_MESSAGE_REJECTED, _facts(inbound, inbox_id, None) | {"reason": reason}, context)
        if answer is not None:
            await self._outbox.send(inbound.address, answer, context)
        return Receipt(inbox_id, accepted=False, reason=reason, reply=answer)

    async def _insert(self, row: InboxRow, further: Callable[[SqlConnection], None] | None = None) -> Receipt | None:
        row = replace(row, received_ms=int(self._clock.time() * 1000))

        def write(connection: SqlConnection) -> Receipt | None:
            known = inbox_rows.insert(connection, row)
            if known is None and further is not None:
                further(connection)
            return known

        return await self._db.write(write)

    def _tell_received(self, accepted: Accept | CommandCall, inbox_id: str) -> None:
        message, context = accepted.message, accepted.context
        facts = _facts(message, inbox_id, accepted.session_key)
        facts["chat_type"] = message.address.chat_type.value
        facts["from_owner"] = context.authority.owner
        facts["sender_name"] = message.sender_name
        facts["text"] = message.text  # for automations; history keeps none of it
        self._bus.fire(EVENT_MESSAGE_RECEIVED, facts, context)

    def _tell_command(self, call: CommandCall) -> None:
        message = call.message
        for name, arguments in ((call.name, call.arguments), *call.more):
            facts = {
                "name": name,
                "arguments": arguments,
                "session_key": call.session_key,
                "agent_id": call.agent_id,
                "channel": message.address.channel,
                "sender": message.sender,
                "from_owner": call.context.authority.owner,
            }
            self._bus.fire(EVENT_COMMAND_RECEIVED, facts, call.context)

    def _tell_event(self, event: InboundEvent, inbox_id: str, context: Context) -> None:
        facts = msgspec.structs.asdict(event) | _facts(event, inbox_id, None)
        facts["chat_type"] = event.address.chat_type.value
        facts["from_owner"] = context.authority.owner
        del facts["address"]
        self._bus.fire(str(type(event).__struct_config__.tag), facts, context)
        self._db.post(lambda connection: inbox_rows.close(connection, inbox_id, "noted"))


def _further(message: InboundMessage) -> InboundMessage:
    """Return a message that has been received, to be received again as another."""
    return replace(message, message_id=f"{message.message_id}+", platform_id=message.answerable_id or "")


def _without_words(inbound: Inbound) -> Inbound:
    """Return the stored form of a refused message: without its words, with the beginning of its sender's name."""
    if isinstance(inbound, InboundMessage):
        name = shown_name(inbound.sender_name) or None
        return InboundMessage(inbound.address, inbound.message_id, inbound.sender, "", sender_name=name)
    return InboundEvent(inbound.address, inbound.event_id, inbound.sender)


def _facts(inbound: Inbound, inbox_id: str, session_key: str | None) -> dict[str, Any]:
    text = inbound.text if isinstance(inbound, InboundMessage) else ""
    return {
        "inbox_id": inbox_id,
        "channel": inbound.address.channel,
        "account": inbound.address.account,
        "peer": inbound.address.peer,
        "sender": inbound.sender,
        "session_key": session_key,
        "text_chars": len(text),
    }
