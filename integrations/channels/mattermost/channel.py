"""Mattermost as a channel: one bot on one server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.surfaces import HttpCall, Open, Route
from hub.messaging.capabilities import DirectoryEntry, SomeEntries
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receiver,
)
from integrations.channels.acknowledging import offer
from integrations.channels.api_channel import ApiChannel
from integrations.channels.emoji_names import name_of
from integrations.channels.http_api import delivery_of, surely_not_sent
from integrations.channels.mattermost.api import MattermostApi
from integrations.channels.mattermost.buttons import BODY_BYTES, attachment, call_of
from integrations.channels.mattermost.intake import MattermostIntake
from integrations.channels.mattermost.socket import PING_S, MattermostSocket

TEXT_CHARS = 16_383
MEDIA_BYTES = 100_000_000
BUTTONS = 20
CLOCK_SKEW_S = 60.0
"""How far the clocks of the server and the hub may differ when a message is looked up."""
MARK = "homarus_message"
GONE = "app.post.get.app_error"

_EVERYBODY = re.compile(r"(?<!\w)@(?=(?:all|channel|here)\b)", re.IGNORECASE)


class MattermostAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    url: str
    token: Secret
    callback_url: str | None = None


class MattermostChannel(ApiChannel):
    """One bot.

    Args:
        ping_s: Between two pings; a connection that left one unanswered at the next is dead.
    """

    name = "mattermost"
    _api: MattermostApi

    def __init__(self, config: MattermostAccount, clock: Clock, *, ping_s: float = PING_S) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._ping_s = ping_s
        self._receive: Receiver | None = None
        self.limits = ChannelLimits(
            text=TEXT_CHARS,
            caption=TEXT_CHARS,
            media=frozenset(MediaKind),
            media_bytes=MEDIA_BYTES,
            buttons=BUTTONS if config.callback_url else 0,
            markup="markdown",
            block_chars=1_500,
            threads=True,
        )

    async def start(self, receive: Receiver) -> None:
        """Connect to the server's WebSocket."""
        self._api = MattermostApi(self._config.url, self._config.token)
        self._intake = MattermostIntake(self._api, receive, self._clock, self.account)
        self._socket = MattermostSocket(self._api, self._config.token, self._ping_s, self._intake)
        self._receive = receive
        self._keep_connected(self._connect, receive)

    async def _connect(self) -> str | None:
        config = await self._api.call("GET", "config/client", params={"format": "old"})
        text, media = int(config.get("MaxPostSize") or TEXT_CHARS), int(config.get("MaxFileSize") or MEDIA_BYTES)
        self.limits = replace(self.limits, text=text, caption=text, media_bytes=media)
        return await self._socket.connect()

    async def _leave(self) -> None:
        self._receive = None
        await self._intake.leave()

    async def _who(self) -> dict[str, Any]:
        me = await self._api.call("GET", "users/me")
        teams = await self._api.call("GET", "users/me/teams")
        missing = [] if teams else [phrase("It is in no team, and sees no channel.")]
        return {"id": me["id"], "name": me["username"], "missing": missing}

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        room, thread = await self._target(message.address), message.address.thread
        props: dict[str, Any] = {MARK: message.id}
        if message.buttons:
            props["attachments"] = [attachment(message.buttons, self._callback, self._config.token, room)]
        posted = await self._api.call(
            "POST",
            "posts",
            json={
                "channel_id": room,
                "message": _quiet(message.text),
                "root_id": thread or "",
                "file_ids": [await self._uploaded(each, room) for each in message.media],
                "props": props,
                "pending_post_id": message.id,  # the server knows a repeated one for half a minute
            },
        )
        if thread is not None:
            self._intake.join(thread)
        return str(posted["id"])

    async def _uploaded(self, media: OutboundMedia, room: str) -> str:
        path = Path(media.path)
        form = aiohttp.FormData({"channel_id": room})
        content = await asyncio.to_thread(path.read_bytes)
        form.add_field("files", content, filename=media.name or path.name, content_type=media.mime_type)
        with surely_not_sent():  # a file that is uploaded twice is shown to nobody
            answer = await self._api.call("POST", "files", data=form)
        return str(answer["file_infos"][0]["id"])

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up by the id that it carries."""
        room = await self._target(message.address)
        after = str(int((since - CLOCK_SKEW_S) * 1000))
        page = await self._api.call("GET", f"channels/{room}/posts", params={"since": after})
        for each in page["posts"].values():
            if (each.get("props") or {}).get(MARK) == message.id and not each.get("delete_at"):
                return Delivery(DeliveryState.DELIVERED, (each["id"],))
        return None

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text; its buttons go."""
        me = self._intake.me
        props = {"attachments": [], **({"from_bot": "true"} if me is not None and me.is_bot else {})}
        patch = {"message": _quiet(text), "props": props}
        return await delivery_of(self._api.call("PUT", f"posts/{platform_id}/patch", json=patch))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        return await delivery_of(self._api.call("DELETE", f"posts/{platform_id}"), done_already=GONE)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Add a reaction, or remove all of the bot's."""
        return await delivery_of(self._react(platform_id, emoji))

    async def _react(self, post: str, emoji: str | None) -> None:
        me = self._intake.me or await self._intake.log_in()
        if emoji is not None:
            reaction = {"user_id": me.id, "post_id": post, "emoji_name": name_of(emoji)}
            await self._api.call("POST", "reactions", json=reaction)
            return
        for each in await self._api.call("GET", f"posts/{post}/reactions"):
            if each["user_id"] == me.id:
                await self._api.call("DELETE", f"users/{me.id}/posts/{post}/reactions/{each['emoji_name']}")

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written."""
        await self._socket.show_typing(await self._target(address), address.thread)

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people of the server, and channels that the bot is in, whose name holds a text."""
        people = await self._api.call("POST", "users/search", json={"term": query, "limit": limit})
        found = SomeEntries() if len(people) >= limit else list[DirectoryEntry]()
        for each in people:
            if not each.get("is_bot") and not each.get("delete_at"):
                name = f"{each.get('first_name', '')} {each.get('last_name', '')}".strip()
                found.append(DirectoryEntry(each["id"], each.get("nickname") or name or each["username"]))
        for each in await self._api.call("GET", "users/me/channels"):
            name = each.get("display_name") or each["name"]
            if each["type"] != "D" and query.casefold() in name.casefold():
                kind = ChatType.GROUP if each["type"] == "G" else ChatType.CHANNEL
                found.append(DirectoryEntry(each["id"], name, kind))
        return found if len(found) <= limit else SomeEntries(found[:limit])

    async def _target(self, address: Address) -> str:
        """Return the conversation of an address; the one with a person is opened where needed."""
        if address.chat_type is not ChatType.DIRECT:
            return address.peer
        with surely_not_sent():
            return (await self._intake.room_with(address.peer)).id

    # --- pressed buttons ---

    @property
    def _path(self) -> str:
        return f"/mattermost/{self.account}"

    @property
    def _callback(self) -> str:
        return f"{(self._config.callback_url or '').rstrip('/')}{self._path}"

    def route(self) -> Route:
        """Return the address that the server calls when a button is pressed."""
        return Route(
            "POST", self._path, self.press, self.name, scope=Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES
        )

    async def press(self, call: HttpCall) -> web.StreamResponse:
        """`POST /mattermost/<account>`: take a pressed button; it is on disk when this answers 200."""
        pressed = call_of(bytes(call.body or b""), self._config.token)
        receive = self._receive
        if receive is None or self._intake.me is None:
            raise Unavailable("Mattermost is not connected; press it again")
        room = await self._intake.room(pressed.room)
        if room is None:
            raise Unavailable("the bot does not see this channel any more")
        user = f"mattermost:user:{pressed.user}"
        event = ButtonPressed(
            room.address(self.account),
            pressed.id,
            user,
            pressed.user_name,
            message_id=pressed.post,
            value=pressed.value,
        )
        receipt = await offer(receive, event)
        notice = receipt.notice if receipt is not None else None
        return web.json_response({"ephemeral_text": notice} if notice else {})


def _quiet(text: str) -> str:
    """Return a text that wakes nobody: Mattermost tells everybody in a channel of an `@all`."""
    return _EVERYBODY.sub("@\u200b", text)
