"""Messages that agents send of their own accord: to their current conversation, or to another chat."""

from __future__ import annotations

from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.agent.workspace.workspace import Workspaces
from hub.automation.services.addresses import LIKE_AN_ADDRESS, Addresses, DeliveryTarget
from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.core.sql import SqlConnection
from hub.messaging.capabilities import Capability
from hub.messaging.channels import Attached
from hub.messaging.contract import Address
from hub.messaging.inbox.inbox_rows import load_message
from hub.messaging.outbox import outbox_rows
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_rows import (
    NEEDS,
    NewMessage,
    NewPoll,
    NewText,
    OutboxRow,
    Outgoing,
    RowSource,
    Withdrawal,
)
from hub.messaging.outbox.replies import Replies, ReplyTarget
from hub.storage.database import Database
from hub.tools.contract import ToolResult

OUTCOME_LIMIT_S = 30.0
"""How long an agent waits for the platform."""


class RunPlace(Struct, frozen=True):
    """The place of a run: its conversation, and the message that it answers.

    Attributes:
        by_voice: Whether that was a voice message.
    """

    address: Address
    message_id: str | None = None
    by_voice: bool = False


class AgentMessages:
    """Sends messages for agents.

    Args:
        db: The hub database, which knows what a run answers.
        outbox: Sends the messages.
        addresses: Finds conversations.
        workspaces: Have the files that may be attached.
    """

    def __init__(self, db: Database, outbox: Outbox, addresses: Addresses, workspaces: Workspaces) -> None:
        self._db = db
        self._outbox = outbox
        self._addresses = addresses
        self.replies = Replies(outbox, workspaces)

    async def place(self, run_id: str, session_key: str) -> RunPlace | None:
        """Return the place of a run, or None if it has none, such as an automation's."""
        found = await self._db.read(lambda connection: _answered_by(connection, run_id))
        if found is not None:
            return found
        conversation = await self._addresses.of_session(session_key)
        return RunPlace(conversation.address) if conversation is not None else None

    async def address(self, run_id: str, session_key: str) -> Address | None:
        """Return the chat of a run, or None."""
        found = await self.place(run_id, session_key)
        return found.address if found is not None else None

    async def at(self, channel: str | None, to: str, account: str | None, thread: str | None) -> DeliveryTarget:
        """Return a chat by its name or address; see `Addresses.called` and `Addresses.at`.

        Raises:
            NotFound: Nobody is called so, and it looks like no address.
        """
        if (called := await self._addresses.called(to, channel, account, thread)) is not None:
            return called
        if channel is None and ":" not in to and not LIKE_AN_ADDRESS.fullmatch(to):
            hint = await self._addresses.suggestion(to)
            raise NotFound(f"to: no chat is called {to[:80]!r}{hint and f'; {hint}'}")
        return await self._addresses.at(channel, to, account or "default", thread)

    def attached_channel(self, address: Address) -> Attached:
        """Return the channel of a chat.

        Raises:
            InvalidRequest: The chat is the hub's own, where an answer is all there is.
            Unavailable: It is not logged in.
        """
        if self._outbox.channels.is_home(address.channel):
            raise InvalidRequest("people already read this conversation: write it in your answer")
        attached = self._outbox.channels.get(address.channel, address.account)
        if attached is None:
            raise Unavailable(f"{address.channel} account {address.account!r} is not logged in")
        return attached

    async def send(self, target: ReplyTarget, run_id: str, outgoing: Outgoing) -> list[OutboxRow]:
        """Send something and wait for the platform, for a limited time.

        Raises:
            InvalidRequest: The channel of the chat cannot do that.
            NotFound: It is about a message that was not sent from here.
            Unavailable: The channel is not logged in.
        """
        attached = self.attached_channel(target.address)
        check_ability(outgoing, attached)
        if isinstance(outgoing, NewText | Withdrawal):
            own = await self._db.read(lambda connection: outbox_rows.sent_ids(connection, target.address))
            if outgoing.platform_id not in own:
                raise NotFound(f"message_id: {outgoing.platform_id!r} was not sent to this chat from here")
        if isinstance(outgoing, NewMessage | NewText | NewPoll):
            outgoing = replace(outgoing, derived=target.context.authority.tainted)
        current = await self.place(run_id, target.session_key)
        here = current is not None and _chat(current.address) == _chat(target.address)
        ids = await self._outbox.send(
            target.address,
            outgoing,
            target.context,
            session_key=target.session_key if here else None,
            run_id=run_id,
            source=RowSource.TOOL,
        )
        return await self._outbox.outcome(ids, OUTCOME_LIMIT_S)


def check_ability(outgoing: Outgoing, attached: Attached) -> None:
    """Refuse what a channel cannot do.

    Raises:
        InvalidRequest: It names that, and what the channel can do.
    """
    missing: list[str] = []
    needed = NEEDS.get(type(outgoing))
    if needed is not None and needed not in attached.capabilities:
        missing.append(needed.value)
    if isinstance(outgoing, NewMessage):
        count = sum(map(len, outgoing.buttons))
        if count > attached.channel.limits.buttons:
            missing.append(f"{count} buttons")
        missing += [each.kind.value for each in outgoing.media if each.kind not in attached.channel.limits.media]
    if missing:
        raise InvalidRequest(
            f"{attached.channel.name} cannot do this: {', '.join(missing)}. {describe_channel(attached)}"
        )


def describe_channel(attached: Attached) -> str:
    """Return the capabilities of a channel, described for a model."""
    limits = attached.channel.limits
    able = ["send", "reply"]
    able += sorted(each.value for each in attached.capabilities & {*NEEDS.values()})
    if Capability.BUTTONS in attached.capabilities:
        able.append(f"up to {limits.buttons} buttons")
    if limits.media:
        able.append(f"media ({', '.join(sorted(limits.media))})")
    return f"{attached.channel.name} can: {', '.join(able)}."


def delivery_result(rows: list[OutboxRow]) -> ToolResult:
    """Return the tool result that describes what was sent."""
    told: dict[str, Any] = {"message_ids": [id for row in rows for id in row.platform_ids]}
    failed = [row for row in rows if row.state != "sent"]
    if not failed:
        return ToolResult.of({"state": "sent", **told})
    first = failed[0]
    words = {"dead": "it was refused", "unknown": "it may or may not have arrived; do not send it again"}
    told |= {"state": first.state, "why": first.error or words.get(first.state, "it is still being sent")}
    return ToolResult(orjson.dumps(told).decode(), details=told, is_error=first.state in ("dead", "stopped"))


def _chat(address: Address) -> tuple[str, str, str]:
    return address.channel, address.account, address.peer


def _answered_by(connection: SqlConnection, run_id: str) -> RunPlace | None:
    row = connection.execute(
        "SELECT message FROM inbox WHERE run_id = ? ORDER BY position DESC LIMIT 1", (run_id,)
    ).fetchone()
    if row is None or row[0] in (None, "{}"):
        return None
    message = load_message(row[0])
    return RunPlace(message.address, message.answerable_id, any(each.voice for each in message.media))
