"""QQ as a channel: one official bot, in direct chats and groups."""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from pathlib import Path
from typing import Any

import msgspec

from hub.core.clock import Clock
from hub.core.phrases import phrase
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.gateway import Gateway, GatewaySession, GatewayTerms
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.qq.answers import Answers, Place, closed
from integrations.channels.qq.api import LINKS_REFUSED, SENT_ALREADY, TOO_LATE, QQApi, QQLogin
from integrations.channels.qq.events import message_of

INTENTS = 1 << 25
"""Messages in direct chats and groups."""
TERMS = GatewayTerms(
    platform="QQ",
    identity={"intents": INTENTS, "shard": [0, 1], "properties": {}},
    refusals={
        4013: "QQ refused the events that the hub asks for; update the hub.",
        4014: "QQ lets the bot hear neither direct chats nor groups. Switch them on at q.qq.com.",
        4914: "The bot is offline and may only be used in its sandbox. Put it online at q.qq.com.",
        4915: "QQ has banned the bot. See q.qq.com.",
    },
    session_over=frozenset({4006, 4007, 4009, *range(4900, 4914), 9001, 9005}),
)
TOKEN_CLOSED = 4004
FILE_BYTES = 10_000_000
TEXT, MEDIA, TYPING = 0, 7, 6
TYPING_S = 50.0
"""QQ shows it for sixty seconds."""
TYPING_SEQ = 1_000
"""Numbers of typing signs begin above those of answers."""
SESSION = "gateway session"

_LINK_DOT = re.compile(r"(?<=\w)\.(?=\w)")


class _QQGateway(Gateway):
    def __init__(self, api: QQApi, intake: QQChannel) -> None:
        super().__init__(api.session, TERMS, intake)
        self._api = api
        self._channel = intake

    async def _token(self) -> str:
        return await self._api.token()

    def _closed(self, code: int) -> None:
        if code == TOKEN_CLOSED:
            self._api.forget_token()
        super()._closed(code)

    async def _dispatch(self, event: str, data: Any, seq: int) -> None:
        await super()._dispatch(event, data, seq)
        if event == "READY":  # a hub that is killed goes on from here
            await self._channel.save()

    async def _address(self) -> str:
        return str((await self._api.call("GET", "/gateway"))["url"])


class QQChannel(ApiChannel):
    """One bot."""

    name = "qq"
    _api: QQApi
    limits = ChannelLimits(
        people_begin=True,
        text=4_000,
        media=frozenset(MediaKind) - {MediaKind.STICKER},
        media_bytes=FILE_BYTES,
        idempotent=True,
        block_chars=4_000,  # each block is one of the few answers
    )

    def __init__(self, account: str, login: QQLogin, clock: Clock) -> None:
        super().__init__(account, clock)
        self._login = login
        self._signs = itertools.count(TYPING_SEQ)
        self._typing_at: dict[str, float] = {}
        self._shows_typing = True
        self._known = False

    async def start(self, receive: Receiver) -> None:
        """Start the gateway."""
        self._receive = receive
        self._api = QQApi(self._login, self._clock)
        self._answers = Answers(receive, self._clock)
        self._gateway = _QQGateway(self._api, self)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        await self.save()

    async def _who(self) -> dict[str, Any]:
        me = await self._api.call("GET", "/users/@me")
        first = phrase("It cannot write first: QQ lets bots only answer, for an hour, and in groups for five minutes.")
        return {"id": self._login.app_id, "name": me.get("username"), "missing": [first]}

    async def _connect(self) -> str:
        """Connect, and go on where an earlier run ended, as long as QQ keeps its session."""
        await self._api.token()
        if not self._known:
            me = await self._api.call("GET", "/users/@me")
            self._receive.identified(self._login.app_id, me.get("username"))
            await self._answers.load()
            if kept := await self._receive.cursor(SESSION):
                self._gateway.session = msgspec.json.decode(kept, type=GatewaySession)
            self._known = True
        return await self._gateway.connect()

    async def save(self) -> None:
        """Save the position in the session, which another run resumes."""
        if self._known and (session := self._gateway.session) is not None:
            await self._receive.keep_cursor(msgspec.json.encode(session).decode(), SESSION)

    # --- in ---

    async def beat(self) -> None:
        """Note that the gateway is alive, and save the position; see `GatewayIntake`."""
        self._receive.progress()
        await self.save()

    async def handle(self, event: str, data: Any, event_id: str) -> None:
        """Take an event; it is stored, or irrelevant, when this returns."""
        self._receive.progress()
        if event in ("READY", "RESUMED"):
            self._receive.connected()
            return
        inbound = None
        with skip_if_malformed(f"qq: {event}"):
            inbound = message_of(event, data, self.account)
        if inbound is None:
            return
        await self._answers.heard(inbound.address, inbound.message_id, keep=self._receive.admits(inbound))
        await offer(self._receive, inbound)

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; what QQ has already is not shown twice."""
        return await delivery_of(self._send(message), done_already=SENT_ALREADY)

    async def _send(self, message: OutboundMessage) -> str:
        while True:
            place = await self._answers.place_of(message)
            try:
                return await self._send_to(place, message)
            except PlatformError as error:
                if error.reason != SENT_ALREADY or not place.is_new:
                    raise
            # Its message was forgotten and came again: that number is of another answer.
            await self._answers.release(message)

    async def _send_to(self, place: Place, message: OutboundMessage) -> str:
        body: dict[str, Any] = {"msg_id": place.msg_id, "msg_seq": place.msg_seq}
        if message.media:  # the outbox makes a message of each, without a text
            body |= {"msg_type": MEDIA, "media": {"file_info": await self._uploaded(message)}}
        else:
            body |= {"msg_type": TEXT, "content": render(message.text, Flavour.PLAIN).strip()}
        try:
            return await self._post(message.address, body)
        except PlatformError as error:
            if error.reason in TOO_LATE:
                await self._answers.release(message)
                raise closed() from error
            if error.reason != LINKS_REFUSED or "content" not in body:
                raise
            # It takes links only to sites that were registered for the bot; written apart, they are words.
            return await self._post(message.address, {**body, "content": _LINK_DOT.sub(" .", body["content"])})

    async def _post(self, address: Address, body: dict[str, Any]) -> str:
        return str((await self._api.call("POST", f"{_place(address)}/messages", body))["id"])

    async def _uploaded(self, message: OutboundMessage) -> str:
        media = message.media[0]
        path = Path(media.path)
        content = await asyncio.to_thread(path.read_bytes)
        body = {
            "file_type": _file_type(media),
            "file_data": base64.b64encode(content).decode(),
            "file_name": media.name or path.name,
            "srv_send_msg": False,
        }
        with surely_not_sent():  # a file that is uploaded twice is shown to nobody
            return str((await self._api.call("POST", f"{_place(message.address)}/files", body))["file_info"])

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Take a message back, which QQ allows for two minutes."""
        return await delivery_of(self._api.call("DELETE", f"{_place(address)}/messages/{platform_id}"))

    async def typing(self, address: Address) -> None:
        """Show in a direct chat that an answer is being written; a bot that may not is not asked again."""
        now, latest = self._clock.monotonic(), self._answers.latest(address.peer)
        shown_at = self._typing_at.get(address.peer)
        if not self._shows_typing or address.chat_type is not ChatType.DIRECT or latest is None:
            return
        if shown_at is not None and now - shown_at < TYPING_S:
            return
        self._typing_at = {peer: at for peer, at in self._typing_at.items() if now - at < TYPING_S}
        self._typing_at[address.peer] = now
        notice = {"input_type": 1, "input_second": 60}
        body = {"msg_type": TYPING, "input_notify": notice, "msg_id": latest, "msg_seq": next(self._signs)}
        try:
            await self._api.call("POST", f"{_place(address)}/messages", body)
        except PlatformError as error:
            self._shows_typing = error.retry_after_s is not None
            raise


def _place(address: Address) -> str:
    kind = "users" if address.chat_type is ChatType.DIRECT else "groups"
    return f"/v2/{kind}/{address.peer}"


def _file_type(media: OutboundMedia) -> int:
    """Return the type under which QQ shows a file: picture, video, voice, or else a file."""
    types = {"image/png": 1, "image/jpeg": 1, "video/mp4": 2, "audio/wav": 3, "audio/mpeg": 3, "audio/flac": 3}
    return types.get(media.mime_type, 4)
