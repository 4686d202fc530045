"""Nextcloud Talk as a channel: one account on one Nextcloud."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry, SomeEntries
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    Receiver,
)
from integrations.channels.api_channel import ApiChannel
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.nextcloud_talk.api import TALK, NextcloudApi, file
from integrations.channels.nextcloud_talk.events import TalkSelf, is_poll, path_of, poll_name
from integrations.channels.nextcloud_talk.reading import GRACE_S, WAIT_S, TalkReading, found_in
from integrations.channels.reconnecting import AccountRefused

TEXT_CHARS = 32_000
MEDIA_BYTES = 100_000_000
FOLDER = "/Talk/Homarus"
"""Where the files that are sent lie among the account's own."""
HISTORY_PAGE = 100
SHARE_WITH_ROOM = 10
RESULTS_ARE_SHOWN = 0
TITLE_CHARS = 200
VOICE = frozenset({"audio/mpeg", "audio/wav", "audio/x-wav"})
"""What Talk plays as a voice message."""
NEEDED = {
    "edit-messages": phrase("edits"),
    "delete-messages": phrase("deletions"),
    "reactions": phrase("reactions"),
}
"""What is asked of the server's Talk, by the names of its features."""

_EVERYBODY = re.compile(r"(?<!\w)@(?=\"?all\b)", re.IGNORECASE)


class TalkAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    url: str
    user: str
    password: Secret


class TalkChannel(ApiChannel):
    """One account.

    Args:
        wait_s: How long one request waits for what is written.
        grace_s: How much later its answer may come.
    """

    name = "nextcloud_talk"
    _api: NextcloudApi

    def __init__(self, config: TalkAccount, clock: Clock, *, wait_s: int = WAIT_S, grace_s: float = GRACE_S) -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._times = wait_s, grace_s
        self.limits = ChannelLimits(
            text=TEXT_CHARS, media=frozenset(MediaKind), media_bytes=MEDIA_BYTES, markup="markdown", block_chars=1_500
        )

    async def start(self, receive: Receiver) -> None:
        """Read the conversations."""
        self._api = NextcloudApi(self._config.url, self._config.user, self._config.password)
        self._reading = TalkReading(self._api, receive, self._clock, self.account, *self._times)
        self._keep_connected(self._reading.connect, receive)

    async def _who(self) -> dict[str, Any]:
        try:
            me = await self._reading.log_in()
        except AccountRefused as error:
            return {"ok": False, "error": str(error)}
        missing = [
            phrase("Its Talk is too old for {what}.", what=what)
            for feature, what in NEEDED.items()
            if feature not in self._reading.features
        ]
        rooms = [room for room in self._reading.rooms.values() if room.is_read_only]
        missing += [phrase("It may not write in the room {room}.", room=room.name) for room in rooms]
        return {"id": me.account_id, "name": me.name, "missing": missing}

    async def _me(self) -> TalkSelf:
        return self._reading.me or await self._reading.log_in()

    # --- out ---

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; see `Channel`."""
        if (limit := self._reading.text_limit) and limit != self.limits.text:
            self.limits = replace(self.limits, text=limit)
        return await super().send(message)

    async def _send(self, message: OutboundMessage) -> str:
        token = await self._target(message.address)
        if message.media:
            return await self._share(message.media[0], message, token)
        body: dict[str, Any] = {
            "message": _quiet(message.text),
            "referenceId": _reference(message),
            "silent": message.silent,
            **_in_thread(message.address),
        }
        if message.reply_to and message.reply_to.isdigit():
            try:
                return await self._post(token, {**body, "replyTo": int(message.reply_to)})
            except PlatformError as error:
                if error.status != 400:
                    raise  # refused for anything else than a message that is gone
        return await self._post(token, body)

    async def _post(self, token: str, body: dict[str, Any]) -> str:
        return str((await self._api.call("POST", self._chat(token), json=body))["id"])

    async def _share(self, media: OutboundMedia, message: OutboundMessage, token: str) -> str:
        """Put a file among the account's own, and share it; of the message that shows it Nextcloud says nothing."""
        me, name = await self._me(), Path(media.name or media.path).name
        content = await asyncio.to_thread(Path(media.path).read_bytes)
        folder = f"{FOLDER}/{_reference(message)[:16]}"
        with surely_not_sent():  # a file that is put there twice is shown to nobody
            for place in ("/Talk", FOLDER, folder):
                await self._api.dav("MKCOL", file(me.id, place), done_already=405)
            await self._api.dav("PUT", file(me.id, f"{folder}/{name}"), data=content)
        voice = media.voice and media.mime_type in VOICE
        await self._api.call(
            "POST",
            "ocs/v2.php/apps/files_sharing/api/v1/shares",
            json={
                "shareType": SHARE_WITH_ROOM,
                "shareWith": token,
                "path": f"{folder}/{name}",
                "referenceId": _reference(message),
                "talkMetaData": orjson.dumps(
                    {"messageType": "voice-message" if voice else "comment", **_in_thread(message.address)}
                ).decode(),
            },
        )
        try:
            return await self._sent(token, message) or ""
        except PlatformError:
            return ""  # it was shared; only its id is not known

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll; in a conversation with one person, where Talk has none, list the options."""
        delivery = await delivery_of(self._open_poll(poll))
        if poll.address.chat_type is ChatType.DIRECT or not delivery.platform_ids:
            return delivery
        (id,) = delivery.platform_ids
        with suppress(HubError):  # it is open; only which message shows it is not known
            messages = await self._history(poll.address.peer)
            shown = [str(each["id"]) for each in messages if is_poll(each, id)]
            return replace(delivery, platform_ids=(*shown, poll_name(id)))
        return replace(delivery, platform_ids=(poll_name(id),))

    async def _open_poll(self, poll: OutboundPoll) -> str:
        token = await self._target(poll.address)
        if poll.address.chat_type is ChatType.DIRECT:
            options = [f"{number}. {option}" for number, option in enumerate(poll.options, 1)]
            text = _quiet("\n".join([poll.question, *options]))
            return await self._post(token, {"message": text, **_in_thread(poll.address)})
        body = {"question": poll.question, "options": poll.options, **_in_thread(poll.address)}
        votes = {"resultMode": RESULTS_ARE_SHOWN, "maxVotes": 0 if poll.multiple else 1}
        opened = await self._api.call("POST", f"{TALK}/v1/poll/{path_of(token)}", json={**body, **votes})
        return str(opened["id"])

    async def open_thread(self, address: Address, title: str) -> Address:
        """Begin a thread with a message that is its title; see `CanOpenThread`."""
        if address.thread is not None:
            return address
        await self._me()
        if "threads" not in self._reading.features:
            raise InvalidRequest("this Nextcloud's Talk has no threads, which came with Nextcloud 32")
        body = {"message": _quiet(title), "threadTitle": title[:TITLE_CHARS]}
        return replace(address, thread=await self._post(await self._target(address), body))

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up by the reference that it carries."""
        id = await self._sent(await self._target(message.address), message)
        return None if id is None else Delivery(DeliveryState.DELIVERED, (id,))

    async def _sent(self, token: str, message: OutboundMessage) -> str | None:
        return found_in(await self._history(token), _reference(message))

    async def _history(self, token: str) -> list[Any]:
        """Return the latest messages of a conversation."""
        params = {"lookIntoFuture": "0", "limit": str(HISTORY_PAGE), "setReadMarker": "0"}
        return list(await self._api.call("GET", self._chat(token), params=params) or [])

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""
        return await delivery_of(self._on("PUT", address, platform_id, json={"message": _quiet(text)}))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        return await delivery_of(self._on("DELETE", address, platform_id), done_already=404)

    async def _on(self, method: str, address: Address, id: str, **request: Any) -> None:
        await self._api.call(method, f"{self._chat(await self._target(address))}/{path_of(id)}", **request)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Add a reaction, or remove all of the account's."""
        return await delivery_of(self._react(address, platform_id, emoji))

    async def _react(self, address: Address, id: str, emoji: str | None) -> None:
        path = f"{TALK}/v1/reaction/{path_of(await self._target(address))}/{path_of(id)}"
        if emoji is not None:
            await self._api.call("POST", path, json={"reaction": emoji})
            return
        me = (await self._me()).id
        for each, people in dict(await self._api.call("GET", path) or {}).items():
            if any((person["actorType"], person["actorId"]) == ("users", me) for person in people):
                await self._api.call("DELETE", path, json={"reaction": each})

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people of the Nextcloud, and conversations of the account, whose name holds a text."""
        asked = {"search": query, "itemType": "call", "itemId": "new", "shareTypes[]": "0", "limit": str(limit)}
        people = await self._api.call("GET", "ocs/v2.php/core/autocomplete/get", params=asked)
        found = [DirectoryEntry(each["id"], each["label"]) for each in people if each.get("source") == "users"]
        found += [
            DirectoryEntry(room.token, room.name, ChatType.GROUP)
            for room in self._reading.rooms.values()
            if room.person is None and query.casefold() in room.name.casefold()
        ]
        return SomeEntries(found[:limit]) if len(people) >= limit else found[:limit]

    async def _target(self, address: Address) -> str:
        """Return the conversation of an address."""
        if address.chat_type is not ChatType.DIRECT:
            return address.peer
        with surely_not_sent():
            return await self._reading.token_of(address.peer)

    def _chat(self, token: str) -> str:
        return f"{TALK}/v1/chat/{path_of(token)}"


def _reference(message: OutboundMessage) -> str:
    return sha256(message.id.encode()).hexdigest()


def _quiet(text: str) -> str:
    """Return a text that wakes nobody: Talk tells everybody in a conversation of an `@all`."""
    return _EVERYBODY.sub("@\u200b", text)


def _in_thread(address: Address) -> dict[str, int]:
    """Return how a request names the thread that an address is in."""
    return {"threadId": int(address.thread)} if address.thread is not None and address.thread.isdigit() else {}
