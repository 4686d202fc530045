"""Discord as a channel: one bot, its servers and its direct messages."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.messaging.capabilities import DirectoryEntry, ListedCommand, SomeEntries
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
    TextUnit,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.api_channel import ApiChannel
from integrations.channels.discord.gateway import DiscordGateway
from integrations.channels.discord.intake import PAGE, PAGES_LIMIT, DiscordIntake
from integrations.channels.discord.rest import DiscordRest
from integrations.channels.discord.rooms import FORUMS, DiscordRoom, room_of
from integrations.channels.discord.schema import LINES
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.ogg_opus import ogg_ms
from integrations.channels.persistent_map import PersistentMap

CONTENT_UNITS = 2_000
NONCE_CHARS = 25
NONCE_WINDOW_S = 120.0
"""For so long a message sent again under its nonce is surely shown once; Discord says "the past few minutes"."""
CLOCK_SKEW_S = 5.0
LABEL_CHARS = 80
CHOICES, CHOICE_CHARS = 25, 100
POLL_HOURS = 24
SILENT = 1 << 12
VOICE = 1 << 13
NO_VOICE = 50173
FLAT = "AA=="
"""The waveform of a sound that is not decoded: one point, drawn as a line."""
NO_EMBEDS = 1 << 2
"""Discord would fetch links to show previews of them, and a link can carry out what is known here."""
EPOCH_MS = 1_420_070_400_000
UNKNOWN_MESSAGE = 10008
PUBLIC_THREAD = 11
WRITABLE = frozenset({0, 2, 5, 13}) | FORUMS
"""Kinds of rooms that are written to."""
TITLE_CHARS = 100
POSTS_KEPT = 100
READS_MESSAGES = 1 << 18 | 1 << 19
"""Flags of an application that may read what is written; the second of one in few servers."""
ADMINISTRATOR = 1 << 3
RIGHTS = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Send Messages in Threads": 1 << 38,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
    "Add Reactions": 1 << 6,
}
"""What the channel uses, by the names in Discord's settings of a role."""
NO_MENTIONS = {"parse": [], "replied_user": False}
Files = Sequence[tuple[str, str, bytes]]
"""Name, MIME type and content of each."""


class DiscordChannel(ApiChannel):
    """One bot.

    Args:
        gateway_url: The gateway's address; None asks the API.
        lines: The most lines of a message; 0 for any number.
    """

    name = "discord"
    _api: DiscordRest
    limits = ChannelLimits(
        text=CONTENT_UNITS,
        unit=TextUnit.UTF16,
        caption=CONTENT_UNITS,
        media=frozenset(MediaKind),
        media_bytes=10 * 1024 * 1024,
        buttons=25,
        markup="markdown",
        block_chars=1_500,
    )

    def __init__(
        self, account: str, token: Secret, api_root: str, gateway_url: str | None, clock: Clock, *, lines: int = LINES
    ) -> None:
        super().__init__(account, clock)
        self.limits = replace(self.limits, lines=lines)
        self._token = token
        self._root = api_root
        self._gateway_url = gateway_url

    async def start(self, receive: Receiver) -> None:
        """Start the gateway."""
        self._receive = receive
        self._api = DiscordRest(self._root, self._token)
        self._intake = DiscordIntake(self._api, receive, self._clock, self.account)
        self._posts = PersistentMap(receive, "posts", POSTS_KEPT, str)
        gateway = DiscordGateway(self._api, self._token, self._gateway_url, self._intake)
        self._keep_connected(gateway.connect, receive)

    async def _leave(self) -> None:
        await self._intake.rooms.save()

    async def _who(self) -> dict[str, Any]:
        me = await self._api.call("GET", "/users/@me")
        application = await self._api.call("GET", "/applications/@me")
        servers = await self._api.call("GET", "/users/@me/guilds")
        missing = [text for server in servers if (text := _missing_in(server))]
        rights = [phrase("In the server {server}: {rights}.", **_rights_in(server)) for server in servers]
        if not application.get("flags", 0) & READS_MESSAGES:
            missing.append(
                phrase("It cannot read what is written in servers; the Message Content Intent of the bot is off.")
            )
        return {"id": me["id"], "name": me["username"], "rights": rights, "missing": missing}

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return members of the bot's servers whose name begins with a text, and rooms whose name holds it."""
        people: dict[str, DirectoryEntry] = {}
        rooms: list[DirectoryEntry] = []
        is_cut = False
        for server in await self._api.call("GET", "/users/@me/guilds"):
            for each in await self._api.call("GET", f"/guilds/{server['id']}/channels"):
                if each["type"] in WRITABLE and query.casefold() in each["name"].casefold():
                    rooms.append(DirectoryEntry(each["id"], f"#{each['name']}", ChatType.CHANNEL, server["name"]))
            search = f"/guilds/{server['id']}/members/search?{urlencode({'query': query, 'limit': limit})}"
            members = await self._api.call("GET", search) if query else ()
            is_cut = is_cut or len(members) >= limit
            for each in members:
                user = each["user"]
                name = each.get("nick") or user.get("global_name") or user["username"]
                if not user.get("bot"):
                    people.setdefault(user["id"], DirectoryEntry(user["id"], name))
        found = [*people.values(), *rooms][:limit]
        return SomeEntries(found) if is_cut else found

    async def _send(self, message: OutboundMessage) -> str | None:
        """Post a message, as the answer to a command where one waits for it."""
        room = await self._target(message.address)
        forum = await self._forum(room)
        if forum is not None and message.part:
            room = await self._last_post(room)
        files = await asyncio.to_thread(_read, message.media)
        flags = NO_EMBEDS | SILENT if message.silent else NO_EMBEDS
        body: dict[str, Any] = {"content": _content(message.text), "allowed_mentions": NO_MENTIONS, "flags": flags}
        if message.buttons:
            body["components"] = await self._components(message)
        if forum is not None and room == forum.id:
            return await self._open_post(forum.id, _title(message), body, files)
        if place := await self._intake.place_of_answer(room, message.reply_to):
            return await self._call("PATCH", place, body, files)
        body |= {"nonce": message.id[-NONCE_CHARS:], "enforce_nonce": True}
        if message.reply_to:
            body["message_reference"] = {"message_id": message.reply_to, "fail_if_not_exists": False}
        if voice := _voice(message, files):
            about = {key: value for key, value in body.items() if key != "content"}
            silent = {"flags": VOICE | SILENT if message.silent else VOICE}
            try:
                return await self._call("POST", f"/channels/{room}/messages", about | silent | voice, files)
            except PlatformError as error:  # where it may send none, it is a file
                if error.status != 400 and error.reason != NO_VOICE:
                    raise
        return await self._call("POST", f"/channels/{room}/messages", body, files)

    async def _forum(self, room: str) -> DiscordRoom | None:
        """Return a room whose messages are posts; None for any other, and for one that cannot be asked for."""
        known = self._intake.rooms.get(room)
        if known is None:
            try:
                known = self._intake.rooms.keep(room_of(await self._api.call("GET", f"/channels/{room}")))
            except PlatformError:  # what is sent there says why
                return None
        return known if known.forum else None

    async def _last_post(self, forum: str) -> str:
        """Return the post that was opened last in a forum; the forum if it is not known."""
        await self._posts.load()
        return self._posts.get(forum) or forum

    async def _open_post(self, forum: str, title: str, message: Mapping[str, Any], files: Files) -> str | None:
        """Open a post with its first message; further pieces go into it, which are not to go into an older one."""
        await self._posts.put(forum, "")
        post = await self._call("POST", f"/channels/{forum}/threads", {"name": title, "message": message}, files)
        await self._posts.put(forum, post or "")
        return post  # its first message has the same id

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up in the conversation; while its nonce is valid it can be sent again without that."""
        first = min(since, _made_at(message.id) or since)
        if self._intake.me is None:
            return None
        room, text = await self._target(message.address), _content(message.text)
        after = str(int((first - CLOCK_SKEW_S) * 1000 - EPOCH_MS) << 22)
        if (forum := await self._forum(room)) is not None:
            if not message.part:
                return await self._find_post(forum, _title(message), text, self._intake.me.id, int(after))
            room = await self._last_post(room)
        if self._clock.time() - first < NONCE_WINDOW_S:
            return None
        for _ in range(PAGES_LIMIT):
            page = await self._api.call("GET", f"/channels/{room}/messages?after={after}&limit={PAGE}")
            for each in page:
                if each["author"]["id"] == self._intake.me.id and each["content"] == text:
                    return Delivery(DeliveryState.DELIVERED, (each["id"],))
            if len(page) < PAGE:
                return None
            after = max((each["id"] for each in page), key=int)
        raise HubError("Discord: the message cannot be looked up: too many have followed it")

    async def _find_post(self, forum: DiscordRoom, title: str, text: str, me: str, after: int) -> Delivery | None:
        """Look a post up, whose opening has no nonce, among the open ones of the server."""
        active = await self._api.call("GET", f"/guilds/{forum.guild}/threads/active")
        for each in active["threads"]:
            is_ours = (each["parent_id"], each["owner_id"], each["name"]) == (forum.id, me, title)
            if is_ours and int(each["id"]) > after:
                said = await self._api.call("GET", f"/channels/{each['id']}/messages/{each['id']}")
                if said["content"] == text:
                    await self._posts.put(forum.id, each["id"])
                    return Delivery(DeliveryState.DELIVERED, (each["id"],))
        return None

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text."""
        body = {"content": _content(text), "allowed_mentions": NO_MENTIONS, "flags": NO_EMBEDS}
        return await delivery_of(self._on_message("PATCH", address, platform_id, body))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        return await delivery_of(self._on_message("DELETE", address, platform_id), done_already=UNKNOWN_MESSAGE)

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Add a reaction, or remove all of the bot's."""
        return await delivery_of(self._react(address, platform_id, emoji))

    async def _react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        path = f"/channels/{await self._target(address, platform_id)}/messages/{platform_id}"
        if emoji is not None:
            await self._api.call("PUT", f"{path}/reactions/{_emoji_path(emoji)}/@me")
            return
        for each in (await self._api.call("GET", path)).get("reactions", ()):
            if each["me"]:
                shown = each["emoji"]
                name = f"{shown['name']}:{shown['id']}" if shown.get("id") else shown["name"]
                await self._api.call("DELETE", f"{path}/reactions/{_emoji_path(name)}/@me")

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll for a day."""
        return await delivery_of(self._open_poll(poll))

    async def _open_poll(self, poll: OutboundPoll) -> str | None:
        body = {
            "poll": {
                "question": {"text": poll.question},
                "answers": [{"poll_media": {"text": option}} for option in poll.options],
                "duration": POLL_HOURS,
                "allow_multiselect": poll.multiple,
            },
            "nonce": poll.id[-NONCE_CHARS:],
            "enforce_nonce": True,
        }
        return await self._call("POST", f"/channels/{await self._target(poll.address)}/messages", body)

    async def open_thread(self, address: Address, title: str) -> Address:
        """Open a thread that everybody in the room sees; see `CanOpenThread`."""
        if (room := self._intake.rooms.get(address.peer)) is not None and room.parent is not None:
            return address
        target = await self._target(address)
        body: dict[str, Any] = {"name": title, "type": PUBLIC_THREAD}
        if await self._forum(target) is not None:
            body = {"name": title, "message": {"content": title, "allowed_mentions": NO_MENTIONS, "flags": NO_EMBEDS}}
        made = await self._api.call("POST", f"/channels/{target}/threads", body)
        return replace(address, peer=made["id"], parent=address.peer)

    async def typing(self, address: Address) -> None:
        """Show for ten seconds that an answer is being written."""
        await self._api.call("POST", f"/channels/{await self._target(address)}/typing")

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        """Make the list the application's commands, whose choices are offered by Discord."""
        body = [
            {"name": each.name, "description": each.about[:100], "options": _options(each)} for each in commands[:100]
        ]
        me = self._intake.me
        if me is None:
            raise HubError("Discord: the commands can be published once the gateway is connected")
        digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        if await self._receive.cursor("commands") != digest:
            await self._api.call("PUT", f"/applications/{me.application}/commands", body)
            await self._receive.keep_cursor(digest, "commands")

    async def _on_message(self, method: str, address: Address, platform_id: str, body: Any = None) -> str | None:
        room = await self._target(address, platform_id)
        return await self._call(method, f"/channels/{room}/messages/{platform_id}", body)

    async def _call(self, *request: Any) -> str | None:
        """Return the id of what was sent."""
        data = await self._api.call(*request)
        return data["id"] if data else None

    async def _target(self, address: Address, message: str | None = None) -> str:
        """Return the room of an address, or of a message there; direct messages with a person are opened where needed.

        A message that was sent to a forum opened a post, which has the message's id.
        """
        if address.chat_type is not ChatType.DIRECT or self._intake.rooms.get(address.peer):
            if message is not None and await self._forum(address.peer) is not None:
                return message
            return address.peer
        if room := self._intake.rooms.dm_of(address.peer):
            return room.id
        try:
            opened = await self._api.call("POST", "/users/@me/channels", {"recipient_id": address.peer})
        except PlatformError as error:
            if error.status not in (400, 404):
                raise
            return address.peer  # it is nobody's id: a room's, where only an id was given
        return self._intake.rooms.keep(DiscordRoom(id=opened["id"], person=address.peer)).id

    async def _components(self, message: OutboundMessage) -> list[dict[str, Any]]:
        carried = self._intake.buttons.payload_of
        return [
            {
                "type": 1,
                "components": [
                    {"type": 2, "style": 2, "label": each.label[:LABEL_CHARS], "custom_id": await carried(each.value)}
                    for each in row
                ],
            }
            for row in message.buttons
        ]


def _options(command: ListedCommand) -> list[dict[str, Any]]:
    """Return the arguments of a command: one of its choices, something else, or both in this order."""
    text = {"type": 3, "description": "…", "required": False}
    choices = [{"name": each, "value": each} for each in command.choices if len(each) <= CHOICE_CHARS]
    offered = [{**text, "name": "choice", "choices": choices}] if 0 < len(choices) <= CHOICES else []
    is_free = command.free or not offered or len(choices) < len(command.choices)
    return [*offered, {**text, "name": "arguments"}] if is_free else offered


def _made_at(id: str) -> float | None:
    """When the outbox made a message; its first attempt was not before."""
    try:
        return int(id[:12], 16) / 1000
    except ValueError:
        return None


def _content(text: str) -> str:
    """The text in Discord's Markdown; plain where its marks do not fit, which Discord counts."""
    marked = render(text, Flavour.DISCORD).strip()
    if len(marked.encode("utf-16-le")) // 2 <= CONTENT_UNITS:
        return marked
    return render(text, Flavour.PLAIN).strip()


def _title(message: OutboundMessage) -> str:
    """Return the title of the post that a message opens: its first line, or the name of its file."""
    plain = render(message.text, Flavour.PLAIN).strip()
    names = [each.name or Path(each.path).name for each in message.media]
    return plain.partition("\n")[0][:TITLE_CHARS].strip() or (names[0][:TITLE_CHARS] if names else "…")


def _read(media: Sequence[OutboundMedia]) -> Files:
    return [(each.name or Path(each.path).name, each.mime_type, Path(each.path).read_bytes()) for each in media]


def _voice(message: OutboundMessage, files: Files) -> dict[str, Any]:
    """Return what makes a voice message of a sound; nothing when it has a text, or is no Opus in an Ogg file."""
    if message.text or message.buttons or not (message.media and message.media[0].voice):
        return {}
    name, _, content = files[0]
    duration_ms = ogg_ms(content)
    sound = {"id": 0, "filename": name, "duration_secs": duration_ms / 1000, "waveform": FLAT}
    return {"attachments": [sound]} if duration_ms else {}


def _emoji_path(emoji: str) -> str:
    return quote(emoji.strip("<>").removeprefix("a:").removeprefix(":"), safe="")


def _rights_in(server: Mapping[str, Any]) -> dict[str, str]:
    granted = int(server.get("permissions", 0))
    names = ["Administrator"] if granted & ADMINISTRATOR else [name for name, bit in RIGHTS.items() if granted & bit]
    return {"server": server["name"], "rights": ", ".join(names) or "–"}


def _missing_in(server: Mapping[str, Any]) -> str:
    """Return what the bot may not do in a server, by its roles; channels may deny or allow more."""
    granted = int(server.get("permissions", 0))
    lacked = [name for name, bit in RIGHTS.items() if not granted & bit]
    if granted & ADMINISTRATOR or not lacked:
        return ""
    return phrase("In the server {server} it lacks: {rights}.", server=server["name"], rights=", ".join(lacked))
