"""The destinations of agents' answers about their subagents: the chat that the task came from."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.agent.run_request import RunRequest, RunResult
from hub.agent.subagents.record import Subagent
from hub.automation.services.agent_messages import AgentMessages
from hub.core.context import Context
from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.sql import SqlConnection
from hub.hooks.contract import SubagentDeliveryTarget
from hub.hooks.registry import Hooks
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.capabilities import CanOpenThread
from hub.messaging.contract import Address, ChatType
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import ReplyTarget
from hub.messaging.texts import say

_log = logging.getLogger(__name__)


THREAD_LIMIT_S = 30.0
"""How long the message that begins a thread may take to be sent."""


class _Place(Struct, frozen=True):
    address: Address
    message_id: str | None = None
    opened: bool = False


class SubagentAnswers:
    """The places of requesters; see `hub.agent.subagents.announcing.RequesterPlaces`.

    Args:
        messages: Finds the chat of a run.
        outbox: Sends the messages.
        may_reply: Whether answers of a session are sent to an address.
        threads: The bound threads.
        hooks: May choose another place.
    """

    def __init__(
        self,
        messages: AgentMessages,
        outbox: Outbox,
        may_reply: Callable[[Address, str], bool],
        threads: ThreadBindings,
        hooks: Hooks | None = None,
    ) -> None:
        self._messages = messages
        self._outbox = outbox
        self._may_reply = may_reply
        self._threads = threads
        self._hooks = hooks

    async def find(self, run_id: str, session_key: str) -> str:
        """Return where the answer of a run goes, as it is stored; empty for nowhere."""
        place = await self._messages.place(run_id, session_key)
        if place is None:
            return ""
        return msgspec.json.encode(_Place(place.address, place.message_id)).decode()

    async def open_thread(self, place: str, session_key: str, label: str, context: Context) -> str:
        """Begin a thread for a subagent where the answer of a run goes; return it as a place.

        In a conversation that is a thread, its result comes there.

        Raises:
            InvalidRequest: There are no threads, or the account may not open one.
            Unavailable: The message that begins it was not sent.
        """
        address = msgspec.json.decode(place, type=_Place).address if place else None
        attached = self._outbox.channels.get(address.channel, address.account) if address is not None else None
        channel = attached.channel if attached is not None else None
        opens = isinstance(channel, CanOpenThread)
        if address is None or channel is None or not (opens or channel.limits.threads):
            raise InvalidRequest("thread: there are no threads in this conversation; spawn it without one")
        if address.thread is not None:
            return place
        if not self._may_reply(address, session_key):
            raise InvalidRequest("thread: nothing may be sent to this chat; spawn it without one")
        opened = address
        if isinstance(channel, CanOpenThread):
            await self._outbox.channels.lease.held()
            try:
                opened = await channel.open_thread(address, label)
            except HubError as error:
                raise InvalidRequest(f"thread: {error.message}; spawn it without one") from error
            if opened == address:
                return place
        text = say("subagents.thread", self._outbox.settings.language, label=label)
        ids = await self._outbox.send(opened, text, context, session_key=session_key)
        [row] = await self._outbox.outcome(ids[:1], THREAD_LIMIT_S)
        if row.state != "sent" or not row.platform_ids:
            raise Unavailable(f"thread: its first message is {row.state}; spawn it without one")
        if not opens:
            opened = replace(address, thread=row.platform_ids[0])
        return msgspec.json.encode(_Place(opened, opened=True)).decode()

    def is_opened(self, place: str) -> bool:
        """Whether a place is a thread that was begun for a subagent."""
        return bool(place) and msgspec.json.decode(place, type=_Place).opened

    async def bind(self, place: str, subagent: Subagent, *, with_task: bool) -> None:
        """Have what its requester writes in a subagent's thread come to it."""
        address, person = msgspec.json.decode(place, type=_Place).address, subagent.authority.person
        await self._threads.bind(address, subagent.session_key, subagent.label, person, with_task=with_task)

    async def end_task(self, session_key: str) -> None:
        """End the bindings that last as long as a subagent's task."""
        await self._threads.end_task(session_key)

    def bound_tasks(self) -> list[str]:
        """Return the sessions that such bindings lead to."""
        return [each.session.key for each in self._threads.all() if each.thread.with_task]

    def has_thread(self, session_key: str) -> bool:
        """Whether a thread is bound to a subagent's session."""
        return self._threads.has_thread(session_key)

    async def choose(self, place: str, subagent: Subagent, context: Context) -> str:
        """Return where the answer to a result goes: the place, or another that a hook chose."""
        if self._hooks is None or SubagentDeliveryTarget.hook not in self._hooks.wanted:
            return place
        found = msgspec.json.decode(place, type=_Place).address if place else None
        asked = SubagentDeliveryTarget(
            context=context,
            subagent_id=subagent.id,
            label=subagent.label,
            state=subagent.state.value,
            session_key=subagent.session_key,
            requester_key=subagent.requester_key,
            channel=found.channel if found else "",
            account=found.account if found else "",
            peer=found.peer if found else "",
            chat_type=found.chat_type.value if found else "",
            thread=(found.thread or "") if found else "",
        )
        chosen = await self._hooks.modify(asked)
        if chosen == asked:
            return place
        if not chosen.channel or not chosen.peer or chosen.chat_type not in ("", *ChatType):
            _log.warning("a hook chose no chat for the results of subagents: %s, %s", chosen.channel, chosen.peer)
            return place
        try:
            account = self._outbox.channels.account(chosen.channel, chosen.account or "default")
        except NotFound as error:
            _log.warning("a hook chose no chat for the results of subagents: %s", error.message)
            return place
        address = Address(
            chosen.channel,
            chosen.peer,
            account,
            ChatType(chosen.chat_type or ChatType.DIRECT),
            chosen.thread or None,
        )
        return msgspec.json.encode(_Place(address)).decode()

    def answer(self, connection: SqlConnection, place: str, request: RunRequest, result: RunResult) -> None:
        """Write an answer for its chat, inside the caller's transaction."""
        found = msgspec.json.decode(place, type=_Place)
        if self._may_reply(found.address, request.session_key):
            target = ReplyTarget(
                found.address, request.agent_id, request.session_key, request.context, found.message_id
            )
            self._messages.replies.insert(connection, result, target)

    def answered(self, place: str) -> None:
        """Send what was written."""
        if place:
            self._outbox.notify(msgspec.json.decode(place, type=_Place).address)
