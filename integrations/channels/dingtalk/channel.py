"""DingTalk as a channel: the robot of one app."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry, SomeEntries
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.dingtalk.api import MEANINGS, DingTalkApi
from integrations.channels.dingtalk.events import SessionWebhook, message_of, session_of
from integrations.channels.dingtalk.outgoing import (
    FILE_BYTES,
    TEXT_BYTES,
    media_body,
    robot_body,
    session_body,
    upload_kind,
)
from integrations.channels.dingtalk.stream import PING_S, DingTalkStream
from integrations.channels.http_api import PlatformError

PER_MINUTE, MINUTE_S = 20, 60.0
"""Messages to a group; who sends more is shut out for ten minutes."""
SESSIONS_LIMIT = 1_000
EARLY_S = 30.0
"""How long before its end an address is no longer used."""
FLOW_PAUSE_S = 60.0
NAMES_LIMIT = 20


class DingTalkAccount(Struct, frozen=True):
    """One entry of the configuration.

    Attributes:
        roots: Of the API, and of the old one.
    """

    account: str
    client_id: str
    client_secret: Secret
    robot_code: str
    roots: tuple[str, str]


class DingTalkChannel(ApiChannel):
    """One app.

    Args:
        ping_s: Between two pings; a connection that left one unanswered at the next is dead.
    """

    name = "dingtalk"
    _api: DingTalkApi
    limits = ChannelLimits(
        text=TEXT_BYTES,
        unit=TextUnit.BYTES,
        media=frozenset(MediaKind),
        media_bytes=FILE_BYTES,
        markup="markdown",
        block_chars=1_000,
    )

    def __init__(self, config: DingTalkAccount, clock: Clock, *, ping_s: float = PING_S) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._ping_s = ping_s
        self._sessions: dict[str, SessionWebhook] = {}
        self._sent_at: dict[str, deque[float]] = {}

    async def start(self, receive: Receiver) -> None:
        """Start Stream mode."""
        config = self._config
        self._receive = receive
        login = (config.client_id, config.client_secret)
        self._api = DingTalkApi(config.roots, login, config.robot_code, self._clock)
        stream = DingTalkStream(self._api, self._greet, self._take, receive.progress, self._ping_s)
        self._keep_connected(stream.connect, receive)

    async def _greet(self) -> None:
        self._receive.identified(self._config.client_id)
        self._receive.connected()

    async def _who(self) -> dict[str, Any]:
        await self._api.check_login()
        return {"account_id": self._config.client_id}

    # --- in ---

    async def _take(self, data: Mapping[str, Any]) -> None:
        """Take a message; when this returns it is stored, or of no interest."""
        inbound: InboundMessage | None = None
        with skip_if_malformed("dingtalk: a message"):
            inbound, session = message_of(data, self.account), session_of(data)
            if session is not None and self._api.is_own(session.url):
                self._sessions.pop(inbound.address.peer, None)
                self._sessions[inbound.address.peer] = session
                if len(self._sessions) > SESSIONS_LIMIT:
                    del self._sessions[next(iter(self._sessions))]
        if inbound is not None:
            await offer(self._receive, inbound)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        if message.address.chat_type is not ChatType.DIRECT:
            self._take_turn(message.address.peer)
        if message.media:  # the outbox makes a message of each, without a text
            return await self._send_robot(message.address, await self._uploaded(message.media[0]))
        return await self._send_text(message)

    async def _send_text(self, message: OutboundMessage) -> str:
        session = self._sessions.get(message.address.peer)
        if session is not None and session.until - EARLY_S > self._clock.time():
            try:
                await self._api.post_to_session(session.url, session_body(message.text))
            except PlatformError as error:
                if error.state is not DeliveryState.PERMANENT or error.reason in MEANINGS:
                    raise
                self._sessions.pop(message.address.peer, None)  # it ended early
            else:
                return message.id  # DingTalk tells none
        return await self._send_robot(message.address, robot_body(message.text))

    def _take_turn(self, group: str) -> None:
        """Count a message to a group.

        Raises:
            PlatformError: There were as many as DingTalk allows.
        """
        now = self._clock.monotonic()
        sent = self._sent_at.setdefault(group, deque())
        while sent and sent[0] <= now - MINUTE_S:
            sent.popleft()
        if len(sent) >= PER_MINUTE:
            text = f"a group takes {PER_MINUTE} messages a minute"
            raise self._api.error(DeliveryState.TRANSIENT, text, retry_after_s=sent[0] + MINUTE_S - now)
        sent.append(now)

    async def _send_robot(self, address: Address, body: dict[str, str]) -> str:
        body = {"robotCode": self._api.robot_code, **body}
        if address.chat_type is not ChatType.DIRECT:
            body["openConversationId"] = address.peer
            answer = await self._api.call("POST", "v1.0/robot/groupMessages/send", json=body)
            return str(answer["processQueryKey"])
        people = {"userIds": [address.peer]}
        answer = await self._api.call("POST", "v1.0/robot/oToMessages/batchSend", json={**body, **people})
        if answer.get("invalidStaffIdList"):
            raise self._api.error(DeliveryState.PERMANENT, "nobody in the organisation has that id")
        if answer.get("flowControlledStaffIdList"):
            text = "too many messages to one person"
            raise self._api.error(DeliveryState.TRANSIENT, text, retry_after_s=FLOW_PAUSE_S)
        return str(answer["processQueryKey"])

    async def _uploaded(self, media: OutboundMedia) -> dict[str, str]:
        content = await asyncio.to_thread(Path(media.path).read_bytes)
        name = media.name or Path(media.path).name
        kind = upload_kind(media, content)
        return media_body(kind, await self._api.upload(kind, name, content), name, content)

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people of the organisation whose name holds a text."""
        given = {"queryWord": query, "offset": 0, "size": min(limit, NAMES_LIMIT)}
        answer = await self._api.call("POST", "v1.0/contact/users/search", json=given)
        found = SomeEntries() if answer.get("hasMore") else list[DirectoryEntry]()
        for id in answer.get("list") or ():
            person = (await self._api.ask_old("topapi/v2/user/get", userid=id))["result"]
            if query.casefold() in str(person["name"]).casefold():
                found.append(DirectoryEntry(id, person["name"]))
        return found
