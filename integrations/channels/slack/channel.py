"""Slack as a channel: one app in one workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
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
    OutboundMessage,
    OutboundPoll,
    Receiver,
)
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.api_channel import ApiChannel
from integrations.channels.emoji_names import name_of
from integrations.channels.http_api import PlatformError, delivery_of
from integrations.channels.slack.intake import SlackIntake
from integrations.channels.slack.polls import OPTIONS, SlackPoll
from integrations.channels.slack.rooms import SlackRoom
from integrations.channels.slack.socket import PING_S, SlackSocket
from integrations.channels.slack.web import SlackWeb

TEXT_CHARS = 3_800
SECTION_CHARS = 3_000
LABEL_CHARS = 75
CLOCK_SKEW_S = 5.0
LOOK_BACK_S = 3_600.0
"""How far before its time a message is looked for by its id, which is no other's, however wrong the clock here is."""
HISTORY_PAGE = 100
LIST_PAGE, LIST_PAGES = 200, 25
MARK = "homarus_message"
TYPING = "…"
NOT_FOR_THIS_APP = frozenset({"missing_scope", "unknown_method", "not_allowed_token_type", "feature_not_enabled"})
"""Errors of a status with which it is not asked for again anywhere; with others, in that conversation."""
SCOPES = frozenset(
    {
        *(f"{kind}:history" for kind in ("channels", "groups", "im", "mpim")),
        *("app_mentions:read", "channels:read", "files:read", "groups:read", "reactions:read", "users:read"),
        *("chat:write", "commands", "files:write", "im:write", "reactions:write"),
    }
)
"""What the channel uses, as its page says."""


class SlackChannel(ApiChannel):
    """One app.

    Args:
        ping_s: Between two pings; a connection that left one unanswered at the next is dead.
    """

    name = "slack"
    _api: SlackWeb
    limits = ChannelLimits(
        text=TEXT_CHARS,
        caption=TEXT_CHARS,
        media=frozenset(MediaKind),
        media_bytes=100_000_000,
        buttons=25,
        markup="mrkdwn",
        block_chars=1_500,
        threads=True,
    )

    def __init__(
        self,
        account: str,
        bot_token: Secret,
        app_token: Secret,
        api_root: str,
        clock: Clock,
        *,
        ping_s: float = PING_S,
    ) -> None:
        super().__init__(account, clock)
        self._bot_token = bot_token
        self._app_token = app_token
        self._root = api_root
        self._ping_s = ping_s
        self._no_status: set[str] = set()
        self._shown: dict[str, str] = {}
        """Threads below which a status is shown, by conversation."""

    async def start(self, receive: Receiver) -> None:
        """Start Socket Mode."""
        self._api = SlackWeb(self._root, self._bot_token)
        self._intake = SlackIntake(self._api, receive, self._clock, self.account)
        socket = SlackSocket(self._api, self._app_token, self._ping_s, self._intake)
        self._keep_connected(socket.connect, receive)

    async def _leave(self) -> None:
        await self._intake.rooms.save()

    async def _who(self) -> dict[str, Any]:
        me = await self._api.call("auth.test")
        scopes = self._api.scopes
        lacked = ", ".join(sorted(SCOPES - scopes)) if scopes else ""  # a proxy may keep the header to itself
        missing = [phrase("It lacks the scopes {scopes}: add them, and install the app again.", scopes=lacked)]
        rights = [phrase("It has the scopes {scopes}.", scopes=", ".join(sorted(scopes)))] if scopes else []
        about = {"id": f"{me['team_id']}/{me['user_id']}", "name": me["user"]}
        return {**about, "rights": rights, "missing": missing if lacked else []}

    async def _send(self, message: OutboundMessage) -> str:
        """Post a message; files go before it, with the text as their comment unless there are buttons."""
        room, thread = await self._target(message.address), message.address.thread
        text = render(message.text, Flavour.MRKDWN)
        if message.media:
            comment = text if not message.buttons else ""
            file = await self._share(message, room, comment)
            if not message.buttons:
                return file
        posted = await self._api.call(
            "chat.postMessage",
            channel=room,
            text=text,
            thread_ts=thread,
            unfurl_links=False,  # Slack would fetch them, and a link can carry out what is known here
            unfurl_media=False,
            blocks=_blocks(text, message) if message.buttons else None,
            metadata={"event_type": MARK, "event_payload": {"id": message.id}},
        )
        if thread is not None:
            self._intake.join(room, thread, posted["ts"])
        if (below := self._shown.pop(room, None)) not in (None, thread):  # Slack ends it by itself in its own thread
            self._tasks.spawn(self._status(room, str(below), ""), name="end a status")
        return str(posted["ts"])

    async def _share(self, message: OutboundMessage, room: str, comment: str) -> str:
        """Upload the files and return the id of the first: of the message that shows them Slack says nothing."""
        files = []
        for each in message.media:
            path = Path(each.path)
            name = each.name or path.name
            files.append({"id": await self._api.upload(name, await asyncio.to_thread(path.read_bytes)), "title": name})
        await self._api.call(
            "files.completeUploadExternal",
            files=files,
            channel_id=room,
            initial_comment=comment or None,
            thread_ts=message.address.thread,
        )
        return str(files[0]["id"])

    async def find(self, message: OutboundMessage, since: float) -> Delivery | None:
        """Look a message up by the id that it carries, or files by their comment."""
        room, thread = await self._target(message.address), message.address.thread
        page = await self._api.call(
            "conversations.replies" if thread else "conversations.history",
            channel=room,
            ts=thread,
            oldest=f"{since - (CLOCK_SKEW_S if message.media else LOOK_BACK_S):.6f}",
            limit=HISTORY_PAGE,
            include_all_metadata=True,
        )
        text = render(message.text, Flavour.MRKDWN)
        for each in page["messages"]:
            sent = (each.get("metadata") or {}).get("event_payload") or {}
            ours = self._intake.me is not None and each.get("user") == self._intake.me.user
            if sent.get("id") == message.id or (ours and message.media and each.get("files") and each["text"] == text):
                return Delivery(DeliveryState.DELIVERED, (each["ts"],))
        return None

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people of the workspace, and channels that the app is in, whose name holds a text."""
        found: list[DirectoryEntry] = []
        people, is_cut = await self._listed("users.list", "members")
        for each in people:
            profile = each.get("profile") or {}
            name = profile.get("display_name") or profile.get("real_name") or each.get("name") or ""
            if not each.get("deleted") and not each.get("is_bot") and query.casefold() in name.casefold():
                found.append(DirectoryEntry(each["id"], name))
        kinds = {"types": "public_channel,private_channel", "exclude_archived": True}
        for each in (await self._listed("conversations.list", "channels", **kinds))[0]:
            if each.get("is_member") and query.casefold() in str(each.get("name") or "").casefold():
                peer = self._intake.moved.first_id(each["id"])
                found.append(DirectoryEntry(peer, f"#{each['name']}", ChatType.CHANNEL))
        return SomeEntries(found[:limit]) if is_cut else found[:limit]

    async def _listed(self, method: str, key: str, **arguments: Any) -> tuple[list[dict[str, Any]], bool]:
        """Return the entries of a list, and whether there are more."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(LIST_PAGES):
            page = await self._api.call(method, limit=LIST_PAGE, cursor=cursor, **arguments)
            found += page[key]
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                break
        return found, cursor is not None

    async def typing(self, address: Address) -> None:
        """Show below the last message that an answer is being written; where an app may not, it is not asked again."""
        room = await self._target(address)
        thread = address.thread or self._intake.latest(room)
        if thread is not None and not self._no_status & {"", room} and await self._status(room, thread, TYPING):
            self._shown[room] = thread

    async def _status(self, room: str, thread: str, status: str) -> bool:
        """Show a status in a thread for two minutes, or end it; return whether Slack did."""
        try:
            await self._api.call("assistant.threads.setStatus", channel_id=room, thread_ts=thread, status=status)
        except PlatformError as error:
            if error.state is DeliveryState.PERMANENT:
                self._no_status.add("" if error.reason in NOT_FOR_THIS_APP else room)
            return False
        return True

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        """Take the list for the app's home, which everybody is shown when they open it."""
        self._intake.commands = tuple((each.name, each.about) for each in commands)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll of our own: a button for each option, with its count."""
        if len(poll.options) > OPTIONS:
            return Delivery(DeliveryState.PERMANENT, error=f"Slack: a poll has at most {OPTIONS} options")
        return await delivery_of(self._open_poll(poll))

    async def _open_poll(self, poll: OutboundPoll) -> str:
        room, thread = await self._target(poll.address), poll.address.thread
        opened = SlackPoll(poll.question, poll.options, poll.multiple)
        posted = await self._api.call(
            "chat.postMessage",
            channel=room,
            text=poll.question,
            thread_ts=thread,
            blocks=opened.blocks(),
            metadata={"event_type": MARK, "event_payload": {"id": poll.id}},
        )
        await self._intake.polls.put(f"{room}:{posted['ts']}", opened)
        return str(posted["ts"])

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text; its buttons go."""
        rendered = render(text, Flavour.MRKDWN)
        return await delivery_of(self._on_message("chat.update", address, ts=platform_id, text=rendered, blocks=[]))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        if platform_id.startswith("F"):
            return await delivery_of(self._api.call("files.delete", file=platform_id), done_already="file_not_found")
        return await delivery_of(
            self._on_message("chat.delete", address, ts=platform_id), done_already="message_not_found"
        )

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """Add a reaction, or remove all of the app's."""
        if emoji is None:
            return await delivery_of(self._unreact(address, platform_id))
        adding = self._on_message("reactions.add", address, timestamp=platform_id, name=name_of(emoji))
        return await delivery_of(adding, done_already="already_reacted")

    async def _unreact(self, address: Address, platform_id: str) -> None:
        found = await self._on_message("reactions.get", address, timestamp=platform_id)
        me = self._intake.me
        for each in found["message"].get("reactions", ()):
            if me is not None and me.user in each["users"]:
                await self._on_message("reactions.remove", address, timestamp=platform_id, name=each["name"])

    async def _on_message(self, method: str, address: Address, **arguments: Any) -> dict[str, Any]:
        return await self._api.call(method, channel=await self._target(address), **arguments)

    async def _target(self, address: Address) -> str:
        """Return the conversation of an address; the one with a person is opened where needed."""
        if address.chat_type is not ChatType.DIRECT or not address.peer.startswith(("U", "W")):
            return self._intake.moved.id_now(address.peer)
        if room := self._intake.rooms.dm_of(address.peer):
            return room.id
        opened = (await self._api.call("conversations.open", users=address.peer))["channel"]["id"]
        return self._intake.rooms.keep(SlackRoom(id=opened, kind="im", person=address.peer)).id


def _blocks(text: str, message: OutboundMessage) -> list[dict[str, Any]]:
    pieces = [text[start : start + SECTION_CHARS] for start in range(0, len(text), SECTION_CHARS)]
    rows = [
        [
            {
                "type": "button",
                "text": {"type": "plain_text", "text": button.label[:LABEL_CHARS]},
                "action_id": f"{row}:{column}",
                "value": button.value,
            }
            for column, button in enumerate(buttons)
        ]
        for row, buttons in enumerate(message.buttons)
    ]
    return [
        *({"type": "section", "text": {"type": "mrkdwn", "text": piece}} for piece in pieces),
        *({"type": "actions", "elements": row} for row in rows),
    ]
