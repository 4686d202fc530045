"""Where answers go that agents give when they heard of their subagents: to the chat that the task came from."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from hub.agent.run_request import RunRequest, RunResult
from hub.automation.services.agent_messages import AgentMessages
from hub.core.sql import SqlConnection
from hub.messaging.contract import Address
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import ReplyTarget


class _Place(Struct, frozen=True):
    address: Address
    message_id: str | None = None


class SubagentAnswers:
    """The places of requesters; see `hub.agent.subagents.announcing.RequesterPlaces`.

    Args:
        messages: Knows where a run is held.
        outbox: Sends.
        may_reply: Whether answers of a session are sent to an address.
    """

    def __init__(self, messages: AgentMessages, outbox: Outbox, may_reply: Callable[[Address, str], bool]) -> None:
        self._messages = messages
        self._outbox = outbox
        self._may_reply = may_reply

    async def find(self, run_id: str, session_key: str) -> str:
        """Return where the answer of a run goes, as it is stored; empty for nowhere."""
        place = await self._messages.place(run_id, session_key)
        if place is None:
            return ""
        return msgspec.json.encode(_Place(place.address, place.message_id)).decode()

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
