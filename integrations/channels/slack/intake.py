"""The intake of one app: its envelopes, and the messages missed while disconnected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.messaging.contract import Inbound, InboundMessage, PollAnswered, Receiver
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.followed_rooms import FollowedRooms
from integrations.channels.http_api import PlatformError, patiently
from integrations.channels.moved_rooms import MovedRooms
from integrations.channels.slack.events import SlackScene, SlackSelf, of_command, of_event, of_interaction
from integrations.channels.slack.home import home_view
from integrations.channels.slack.polls import SlackPolls
from integrations.channels.slack.rooms import SlackRoom
from integrations.channels.slack.web import SlackWeb

_log = logging.getLogger(__name__)

PAGE = 200
PAGES_LIMIT = 10
"""Pages of one conversation that are read after a pause."""
NAMES_LIMIT = 5_000
NAME_LIMIT_S = 3.0
"""How long a message waits for a name that was never asked for."""
MOVED = "channel_id_changed"
RENAMES = frozenset({"channel_rename", "group_rename"})
HEARD = 500
"""Conversations whose last message is remembered, to show a status below it."""
GONE = frozenset({"channel_not_found", "not_in_channel", "thread_not_found", "is_archived", "missing_scope"})


class SlackIntake:
    """Receives what happens, in order.

    Attributes:
        me: The app's bot, once Slack said who it is.
        polls: The polls that were opened.
        moved: Conversations that got another id.
        commands: What the app's home lists.
    """

    def __init__(self, web: SlackWeb, receive: Receiver, clock: Clock, account: str) -> None:
        self._web = web
        self._receive = receive
        self._clock = clock
        self._account = account
        self.rooms = FollowedRooms(receive, SlackRoom)
        self.polls = SlackPolls(receive)
        self.moved = MovedRooms(receive)
        self.commands: Sequence[tuple[str, str]] = ()
        self.me: SlackSelf | None = None
        self._heard: dict[str, str] = {}
        self._names: dict[str, str | None] = {}
        """Of rooms and people, by id, since the connection began; None where Slack tells none."""

    async def beat(self) -> None:
        """Note that the connection lives, and keep how far it was read."""
        self._receive.progress()
        await self.rooms.save()

    async def handle_hello(self, missed: bool) -> None:
        """Handle a new connection; read what was missed."""
        said = await self._web.call("auth.test")
        self.me = SlackSelf(said["user_id"], said["team_id"], said["user"], said.get("team") or "")
        self._names.clear()
        self._receive.identified(self.me.account_id, f"{said['user']} ({said.get('team', said['team_id'])})")
        if missed:
            await self.polls.load()
            await self.moved.load()
            await self.rooms.load()
        self._receive.connected()
        if not missed:
            return
        for room in sorted(self.rooms.followed(), key=lambda room: ":" in room.id):
            await self._catch_up(room)
        await self.rooms.save()

    def join(self, channel: str, thread: str, ts: str) -> bool:
        """Take part in a thread in which something was said; return whether only from now on."""
        id = f"{channel}:{thread}"
        return self.rooms.read(self.rooms.get(id) or SlackRoom(id=id), ts, follow=True)

    async def handle(self, kind: str, payload: Any) -> None:
        """Take an envelope; when this returns it is stored, or of no interest."""
        self._receive.progress()
        await self._follow(payload)
        said: list[Inbound] = []
        room: SlackRoom | None = None
        with skip_if_malformed(f"slack: {kind}"):
            self._renamed(payload.get("event") or {})
            await self._show_home(payload.get("event") or {})
            room = self._room(kind, payload)
            if room is not None and self.me is not None:
                said += _said(
                    kind, payload, SlackScene(room, self.me, self._account, self._is_joined, self.moved.first_id)
                )
        for inbound in said:
            if isinstance(inbound, InboundMessage) and room is not None and self._receive.admits(inbound):
                inbound = await self._with_names(inbound, room, str(payload["event"]["user"]))  # noqa: PLW2901
            notice = await self._offer(inbound, room)
            if notice and room is not None:
                await self._tell(notice, room, payload["user"]["id"], inbound.address.thread)

    async def _follow(self, payload: Mapping[str, Any]) -> None:
        """Note that a conversation got another id, as when it is shared with another workspace."""
        event: Any = None
        with skip_if_malformed("slack: a conversation that moved"):
            event = payload.get("event") or {}
            event = (event["old_channel_id"], event["new_channel_id"]) if event.get("type") == MOVED else None
        if event is not None:
            await self.moved.move(*event)

    async def _show_home(self, event: Mapping[str, Any]) -> None:
        """Show the app's home to somebody who opened it."""
        if event.get("type") != "app_home_opened" or event.get("tab") != "home" or self.me is None:
            return
        try:
            await self._web.call("views.publish", user_id=event["user"], view=home_view(self.me.name, self.commands))
        except PlatformError as error:
            _log.info("slack: the app's home is not shown: %s", error)

    async def _count(self, inbound: PollAnswered, room: str) -> PollAnswered | None:
        """Count a vote, and return all that its voter has chosen; None of a poll that nobody remembers."""
        key = f"{room}:{inbound.poll_id}"
        poll = self.polls.get(key)
        if poll is None or not inbound.numbers[0] < len(poll.options) or not self._receive.admits(inbound):
            return None
        poll = poll.voted(inbound.sender, inbound.numbers[0], inbound.event_id)
        await self.polls.put(key, poll)
        try:
            await self._web.call(
                "chat.update", channel=room, ts=inbound.poll_id, text=poll.question, blocks=poll.blocks()
            )
        except PlatformError as error:
            _log.info("slack: the count of a poll is not shown: %s", error)
        return replace(inbound, numbers=poll.votes[inbound.sender].numbers)

    def latest(self, room: str) -> str | None:
        """Return the message in a conversation that was heard last."""
        return self._heard.get(room)

    async def _tell(self, notice: str, room: SlackRoom, user: str, thread: str | None) -> None:
        """Show something to one person alone, who sees it while they are there."""
        try:
            await self._web.call("chat.postEphemeral", channel=room.id, user=user, text=notice, thread_ts=thread)
        except PlatformError as error:
            _log.info("slack: a pressed button was not answered: %s", error)

    async def _with_names(self, message: InboundMessage, room: SlackRoom, user: str) -> InboundMessage:
        """Return a message with the names of its sender and its room; Slack is asked once for each."""
        sender = message.sender_name or await self._name("users.info", "user", user)
        if room.person is not None:
            return replace(message, sender_name=sender)
        group = None if room.kind == "mpim" else await self._name("conversations.info", "channel", room.id)
        team = self.me.team_name if self.me is not None else None
        return replace(message, sender_name=sender, group_name=group, space_name=team or None)

    async def _name(self, method: str, kind: str, id: str) -> str | None:
        if id not in self._names:
            if len(self._names) >= NAMES_LIMIT:
                self._names.clear()
            self._names[id] = None  # who is slow or refuses is not asked for each message
            ask = self._web.call(method, user=id) if kind == "user" else self._web.call(method, channel=id)
            with suppress(PlatformError, TimeoutError):
                async with asyncio.timeout(NAME_LIMIT_S):
                    self._names[id] = _name_in((await ask)[kind])
        return self._names[id]

    def _renamed(self, event: Mapping[str, Any]) -> None:
        if event.get("type") in RENAMES:
            self._names[event["channel"]["id"]] = event["channel"]["name"]

    def _room(self, kind: str, payload: Mapping[str, Any]) -> SlackRoom | None:
        """Return where something happened; None when it did so nowhere."""
        event = payload.get("event") or {}
        if event.get("type") in RENAMES:
            return None
        id, person = event.get("channel") or (event.get("item") or {}).get("channel"), event.get("user")
        if kind == "interactive":
            id, person = (payload.get("channel") or {}).get("id"), payload["user"]["id"]
        elif kind == "slash_commands":
            id, person = payload["channel_id"], payload["user_id"]
        if not id:
            return None
        known = self.rooms.get(id)
        form = event.get("channel_type") or (known.kind if known else "im" if id.startswith("D") else "channel")
        if known is not None and known.kind == form:
            return known
        if form == "im" and person in (None, self.me and self.me.user):
            return None  # about a conversation in which nobody has spoken yet
        return self.rooms.keep(SlackRoom(id=id, kind=form, person=person if form == "im" else None))

    async def _offer(self, inbound: Inbound, room: SlackRoom | None) -> str | None:
        if isinstance(inbound, PollAnswered):
            voted = await self._count(inbound, room.id) if room is not None else None
            if voted is None:
                return None
            inbound = voted
        receipt = await offer(self._receive, inbound)
        if receipt is not None and receipt.accepted and isinstance(inbound, InboundMessage) and room is not None:
            self._heard = dict([*self._heard.items(), (room.id, inbound.message_id)][-HEARD:])
        if receipt is not None and isinstance(inbound, InboundMessage) and room is not None:
            thread, follow, is_new = inbound.address.thread, receipt.accepted, False
            if thread and (follow or self._is_joined(room, thread)):
                is_new = self.join(room.id, thread, inbound.message_id)
            if thread is None or not room.after:
                is_new = self.rooms.read(room, inbound.message_id, follow=follow) or is_new
            if is_new:
                await self.rooms.save()
        return receipt.notice if receipt is not None else None

    def _is_joined(self, room: SlackRoom, thread: str) -> bool:
        return self.rooms.get(f"{room.id}:{thread}") is not None

    async def _catch_up(self, room: SlackRoom) -> None:
        """Read what was written in a conversation or thread while disconnected, oldest first."""
        channel, _, thread = room.id.partition(":")
        method = "conversations.replies" if thread else "conversations.history"
        after, found, cursor = room.after, list[dict[str, Any]](), None
        for _ in range(PAGES_LIMIT):
            try:
                where = {"channel": channel, "ts": thread or None, "oldest": after, "cursor": cursor}
                page = await patiently(self._clock, self._web.call, method, limit=PAGE, **where)
            except PlatformError as error:
                if error.reason not in GONE:
                    raise
                self.rooms.forget(room.id)
                return
            found += page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
        for message in sorted(found, key=lambda each: str(each["ts"])):
            if message["ts"] > after:
                await self.handle("events_api", {"event": {"channel": channel, **message}, "event_id": message["ts"]})


def _name_in(found: Mapping[str, Any]) -> str | None:
    """Return what a person, or a room, shows itself as."""
    profile = found.get("profile") or {}
    name = profile.get("display_name") or profile.get("real_name") or found.get("real_name") or found.get("name")
    return str(name) if name else None


def _said(kind: str, payload: Mapping[str, Any], scene: SlackScene) -> Iterator[Inbound]:
    if kind == "events_api":
        yield from of_event(payload["event"], payload["event_id"], scene)
    elif kind == "slash_commands":
        yield from of_command(payload, scene)
    elif payload.get("type") == "block_actions":
        yield from of_interaction(payload, scene)
