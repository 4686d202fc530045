"""Feishu and Lark as a channel: the bot of one app."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
    TextUnit,
)
from integrations.channels.api_channel import ApiChannel
from integrations.channels.feishu.api import GONE, MARKUP_REFUSED, FeishuApi
from integrations.channels.feishu.cards import FILE_BYTES, TEXT_BYTES, card_of, upload_of
from integrations.channels.feishu.emoji import name_of
from integrations.channels.feishu.intake import FeishuIntake, SentMessage
from integrations.channels.feishu.socket import PING_S, FeishuSocket
from integrations.channels.feishu.streams import CardStreams
from integrations.channels.feishu.webhook import FeishuWebhook
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.reconnecting import AccountRefused

LIST_PAGE, LIST_PAGES = 100, 20
BUTTONS = 50
WATCH_S = 3_600.0
"""Between two looks at whether the app is still accepted, where it only waits for deliveries."""
SCOPES = {
    "im:message:send_as_bot": "send messages",
    "im:message.p2p_msg:readonly": "receive direct messages",
    "im:message.group_at_msg:readonly": "receive messages of groups that mention it",
    "im:message.reactions:write_only": "react",
    "im:resource": "send and receive files",
    "im:chat:readonly": "know the names of groups",
    "contact:user.base:readonly": "know the names of people",
    "cardkit:card:write": "let answers grow while they are written",
}
_INCLUDED_IN = {
    "im:message:send_as_bot": ("im:message",),
    "im:message.group_at_msg:readonly": ("im:message.group_msg", "im:message.group_at_msg"),
    "im:message.p2p_msg:readonly": ("im:message.p2p_msg",),
    "im:message.reactions:write_only": ("im:message",),
    "im:chat:readonly": ("im:chat",),
}


class FeishuAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    app_id: str
    app_secret: Secret
    api_root: str


class FeishuChannel(ApiChannel):
    """One app.

    Args:
        webhook: Where events come in; None for a connection that the hub opens.
        ping_s: Between two pings of that connection.
    """

    name = "feishu"
    _api: FeishuApi
    limits = ChannelLimits(
        text=TEXT_BYTES,
        unit=TextUnit.BYTES,
        media=frozenset(MediaKind),
        media_bytes=FILE_BYTES,
        buttons=BUTTONS,
        markup="markdown",
        idempotent=True,
        threads=True,
    )

    def __init__(
        self, config: FeishuAccount, clock: Clock, webhook: FeishuWebhook | None = None, *, ping_s: float = PING_S
    ) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._webhook = webhook
        self._ping_s = ping_s

    async def start(self, receive: Receiver) -> None:
        """Start listening."""
        config = self._config
        self._receive = receive
        self._api = FeishuApi(config.api_root, config.app_id, config.app_secret, self._clock)
        self.intake = FeishuIntake(self._api, receive, self.account)
        self._streams = CardStreams(self._api, self._clock, self._tasks)
        self._socket = FeishuSocket(self._api, self.intake, self._greet, self._ping_s)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        if self._webhook is not None:
            self._webhook.intake = None

    async def _connect(self) -> str:
        try:
            if self._webhook is None:
                return await self._socket.connect()
            await self._greet()
            self._webhook.intake = self.intake
            while True:
                await self._clock.sleep(WATCH_S)
                await self._me()
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                raise AccountRefused(f"{error.message}. See docs/channels/feishu.md.") from error
            raise
        finally:
            await self._leave()

    async def _greet(self) -> None:
        me = await self._me()
        self.intake.me = str(me.get("open_id") or "")
        self._receive.identified(self._config.app_id, me.get("app_name"))
        await self.intake.load()
        self._receive.connected()

    async def _me(self) -> dict[str, Any]:
        me: dict[str, Any] = (await self._api.call("GET", "bot/v3/info"))["bot"]
        return me

    async def _who(self) -> dict[str, Any]:
        me = await self._me()
        return {"account_id": self._config.app_id, "name": me.get("app_name"), "missing": await self._missing()}

    async def _missing(self) -> list[str]:
        try:
            found = (await self._api.call("GET", "application/v6/scopes"))["data"]["scopes"]
        except PlatformError:
            return []
        granted = {each["scope_name"] for each in found if each.get("grant_status") == 1}
        missing = [scope for scope in SCOPES if not granted & {scope, *_INCLUDED_IN.get(scope, ())}]
        return [f"the permission {scope}, to {SCOPES[scope]}" for scope in missing]

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        if message.media:  # the outbox makes a message of each, without a text
            return await self._post(message, *await self._uploaded(message.media[0]))
        try:
            return await self._post(message, "interactive", card_of(message.text, message.buttons))
        except PlatformError as error:
            if error.reason not in MARKUP_REFUSED:
                raise
        return await self._post(message, "interactive", card_of(message.text, message.buttons, plain=True))

    async def _post(self, message: OutboundMessage, kind: str, content: dict[str, Any]) -> str:
        address = message.address
        body = {"msg_type": kind, "content": _json(content), "uuid": message.id}
        answered = address.thread or message.reply_to
        if answered is not None and answered.startswith("om_"):
            path = f"im/v1/messages/{answered}/reply"
            try:
                in_thread = {"reply_in_thread": True} if address.thread else {}
                return await self._noted(message, await self._api.call("POST", path, json={**body, **in_thread}))
            except PlatformError as error:
                if address.thread or error.reason not in GONE:
                    raise
        params = {"receive_id_type": _id_type(address.peer)}
        body["receive_id"] = address.peer
        return await self._noted(message, await self._api.call("POST", "im/v1/messages", params=params, json=body))

    async def _noted(self, message: OutboundMessage, answer: dict[str, Any]) -> str:
        data, address = answer["data"], message.address
        sent = SentMessage(str(data.get("chat_id") or ""), bool(message.buttons))
        person = address.peer if address.chat_type is ChatType.DIRECT else None
        await self.intake.note_sent(str(data["message_id"]), sent, person)
        return str(data["message_id"])

    async def _uploaded(self, media: OutboundMedia) -> tuple[str, dict[str, Any]]:
        content = await asyncio.to_thread(Path(media.path).read_bytes)
        kind, file_type = upload_of(media, len(content))
        name = media.name or Path(media.path).name

        def form() -> aiohttp.FormData:
            if kind == "image":
                form = aiohttp.FormData({"image_type": "message"})
                form.add_field("image", content, filename=name)
                return form
            form = aiohttp.FormData({"file_type": file_type, "file_name": name})
            form.add_field("file", content, filename=name)
            return form

        with surely_not_sent():  # a file that is uploaded twice is shown to nobody
            answer = await self._api.call("POST", "im/v1/images" if kind == "image" else "im/v1/files", form)
        key = "image_key" if kind == "image" else "file_key"
        return kind, {key: answer["data"][key]}

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text; its buttons go."""
        return await delivery_of(self._edit(platform_id, text))

    async def _edit(self, id: str, text: str) -> None:
        sent = self.intake.sent.get(id)
        if sent is not None and not sent.has_buttons and await self._streams.write(id, text):
            return
        try:
            await self._replace(id, card_of(text))
        except PlatformError as error:
            if error.reason not in MARKUP_REFUSED:
                raise
            await self._replace(id, card_of(text, plain=True))

    async def _replace(self, id: str, card: dict[str, Any]) -> None:
        await self._api.call("PATCH", f"im/v1/messages/{id}", json={"content": _json(card)})

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Take a message back; one that is gone counts as taken back."""
        try:
            await self._api.call("DELETE", f"im/v1/messages/{platform_id}")
        except PlatformError as error:
            if error.reason not in GONE:
                return Delivery(error.state, error=error.message, retry_after_s=error.retry_after_s)
        return Delivery(DeliveryState.DELIVERED)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Add a reaction, or remove all of the bot's."""
        return await delivery_of(self._react(f"im/v1/messages/{platform_id}/reactions", emoji))

    async def _react(self, path: str, emoji: str | None) -> None:
        if emoji is not None:
            await self._api.call("POST", path, json={"reaction_type": {"emoji_type": name_of(emoji)}})
            return
        async for each in self._listed(path):
            operator = each.get("operator") or {}
            if operator.get("operator_type") == "app" and operator.get("operator_id") == self._config.app_id:
                await self._api.call("DELETE", f"{path}/{each['reaction_id']}")

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return groups that the bot is in whose name holds a text."""
        found: list[DirectoryEntry] = []
        async for each in self._listed("im/v1/chats"):
            if query.casefold() in str(each.get("name") or "").casefold():
                found.append(DirectoryEntry(each["chat_id"], each["name"], ChatType.GROUP))
        return found[:limit]

    async def _listed(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries of a list, page by page."""
        token = ""
        for _ in range(LIST_PAGES):
            page = {"page_size": str(LIST_PAGE)} | ({"page_token": token} if token else {})
            data = (await self._api.call("GET", path, params=page))["data"]
            for each in data.get("items") or ():
                yield each
            token = data.get("page_token") or ""
            if not token or not data.get("has_more"):
                return


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def _id_type(peer: str) -> str:
    return {"oc_": "chat_id", "on_": "union_id"}.get(peer[:3], "open_id")
