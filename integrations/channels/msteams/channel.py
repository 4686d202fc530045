"""Microsoft Teams as a channel: one bot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.phrases import Phrase, phrase
from hub.messaging.capabilities import DirectoryEntry, SomeEntries
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from hub.messaging.texts import say
from integrations.channels.acknowledging import offer, skip_if_malformed
from integrations.channels.api_channel import ApiChannel
from integrations.channels.bearer_tokens import SigningKeys
from integrations.channels.http_api import PlatformError, delivery_of, surely_not_sent
from integrations.channels.msteams.cards import (
    button_card,
    consent_card,
    file_card,
    picture,
    poll_card,
    text_activity,
)
from integrations.channels.msteams.connector import GONE, TOKEN_REFUSED, ConnectorApi, TeamsAccount
from integrations.channels.msteams.events import THREAD, Json, address_of, inbound_of
from integrations.channels.msteams.streaming import MARKUP_REFUSED, TeamsStreams
from integrations.channels.msteams.webhook import TeamsWebhook
from integrations.channels.persistent_map import PersistentMap
from integrations.channels.reconnecting import AccountRefused

_log = logging.getLogger(__name__)

TEXT_CHARS = 10_000
"""A message may have 28 KB in all, in Teams' own form of it."""
MEDIA_BYTES = 50_000_000
PLACES_KEPT, FILES_KEPT, TOPICS_KEPT, TEAMS_ASKED, PLACES_ASKED = 1_000, 200, 500, 20, 20
MEMBERS_PAGE, MEMBERS_PAGES = 500, 4
PERSON = "29:"
"""What the id of a user of Teams begins with."""
TOPIC_CHARS = 60
"""Of a post, as the name of the thread that it began."""
RENAMED = frozenset({"channelRenamed", "teamRenamed"})
SHOWN_EVERY_S = 1.5
"""Teams takes 60 edits of a conversation in 30 seconds, and 1 800 in an hour."""
OPEN_LIMIT_S = 5.0
"""How long a delivery waits for a bot that is just being connected: whether Teams repeats one is not documented."""
NAMES_LIMIT_S = 5.0
ACTION, CONSENT = "adaptiveCard/action", "fileConsent/invoke"


class TeamsPlace(Struct, frozen=True, omit_defaults=True):
    """A conversation, and where it is written to; of a personal one, with which user of Teams."""

    service: str
    name: str = ""
    kind: ChatType = ChatType.DIRECT
    team: str | None = None
    team_name: str = ""
    user: str = ""


class OfferedFile(Struct, frozen=True):
    """A file that somebody was asked whether they want it."""

    peer: str
    path: str
    name: str


class TeamsChannel(ApiChannel):
    """One bot.

    Args:
        language: Returns the language of the home.
    """

    name = "msteams"
    _api: ConnectorApi
    limits = ChannelLimits(
        text=TEXT_CHARS,
        unit=TextUnit.UTF16,
        media=frozenset(MediaKind),
        media_bytes=MEDIA_BYTES,
        buttons=20,
        markup="markdown",
        draft_interval_s=SHOWN_EVERY_S,
    )

    def __init__(self, config: TeamsAccount, clock: Clock, language: Callable[[], str] = lambda: "en") -> None:
        super().__init__(config.account, clock)
        self._config = config
        self._language = language
        self._open = asyncio.Event()
        self._streams = TeamsStreams(
            self._post, lambda address, id, activity: self._on(address, "PUT", id, activity), clock
        )
        keys = SigningKeys(lambda: self._api.signing_keys(), clock)  # noqa: PLW0108  it is made at the start
        self.webhook = TeamsWebhook(config.account, config.app_id, keys, clock, self.take)

    async def start(self, receive: Receiver) -> None:
        """Start; activities are accepted once the bot's secret is confirmed."""
        self._receive = receive
        self._refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._places = PersistentMap(receive, "places", PLACES_KEPT, TeamsPlace)
        self._topics = PersistentMap(receive, "topics", TOPICS_KEPT, str)
        self._files = PersistentMap(receive, "offered files", FILES_KEPT, OfferedFile)
        self._api = ConnectorApi(self._config, self._clock)
        self._keep_connected(self._connect, receive)

    async def _leave(self) -> None:
        self._open.clear()

    async def _who(self) -> dict[str, Any]:
        await self._asked(self._api.authorize(renew=True))
        try:
            roles = ", ".join(await self._api.graph_roles()) or "–"
            rights = [phrase("At Microsoft Graph it may: {rights}.", rights=roles)]
        except PlatformError as error:
            rights = [phrase("What it may do at Microsoft Graph is not known: {error}.", error=error.message)]
        present, missing = await self._memberships()
        return {"account_id": self._config.app_id, "rights": rights + present, "missing": missing}

    async def _memberships(self) -> tuple[list[Phrase], list[Phrase]]:
        """Return which of the newest groups and channels the app is in, and which it is not in any more."""
        present, missing = list[Phrase](), list[Phrase]()
        rooms = [each for each in self._places.items() if each[1].kind is not ChatType.DIRECT]
        for peer, place in rooms[-PLACES_ASKED:]:
            named = place.name or peer
            try:
                path = f"v3/conversations/{quote(peer, safe='')}/pagedmembers?pageSize=1"
                await self._asked(self._api.call("GET", place.service, path))
                present.append(phrase("It is in {place}.", place=named))
            except PlatformError as error:
                if error.status not in (403, 404):
                    raise
                missing.append(phrase("It is not in {place} any more; add the app there again.", place=named))
        return present, missing

    async def _connect(self) -> None:
        """Get a token, and accept activities until Microsoft refuses the secret."""
        try:
            await self._api.authorize(renew=True)
        except PlatformError as error:
            if error.reason == TOKEN_REFUSED:
                raise AccountRefused(_with_help(error)) from error
            raise
        self._receive.identified(self._config.app_id)
        await self._places.load()
        await self._topics.load()
        await self._files.load()
        self._open.set()
        self._receive.connected()
        raise AccountRefused(await self._refusal)

    async def _asked(self, request: Any) -> Any:
        try:
            return await request
        except PlatformError as error:
            if error.reason == TOKEN_REFUSED and not self._refusal.done():
                self._refusal.set_result(_with_help(error))
            raise

    # --- in ---

    async def take(self, activity: Json) -> dict[str, Any] | None:
        """Take an activity; return the answer to one that asks for one.

        Raises:
            HubError: It is not stored; Teams must deliver it again.
        """
        try:
            async with asyncio.timeout(OPEN_LIMIT_S):
                await self._open.wait()
        except TimeoutError as error:
            raise Unavailable("Microsoft Teams is not connected; deliver it again") from error
        self._receive.progress()
        found: list[Inbound] = []
        with skip_if_malformed("msteams: an activity"):
            if activity.get("name") == CONSENT:
                self._answer_consent(activity)
                return {}
            if (activity.get("channelData") or {}).get("eventType") in RENAMED:
                await self._note_new_name(activity)
            found = list(inbound_of(activity, self.account))
            if not found and activity["type"] in ("conversationUpdate", "installationUpdate"):
                await self._note_installation(activity)
        notice = ""
        for inbound in found:
            receipt = await offer(self._receive, await self._placed(inbound, activity))
            if receipt is not None and receipt.notice and isinstance(inbound, ButtonPressed):
                notice = receipt.notice
                if activity["type"] == "message":  # it cannot be answered
                    self._tasks.spawn(self._tell(inbound.address, notice), name="answer a button")
        if activity.get("name") == ACTION:
            kind = "application/vnd.microsoft.activity.message"
            return {"statusCode": 200, "type": kind, "value": notice}
        return {} if activity.get("type") == "invoke" else None

    async def _placed(self, inbound: Inbound, activity: Json) -> Inbound:
        """Note where something came from, and return it with the name of its channel, unless it is a stranger's."""
        if not self._receive.admits(inbound):
            return inbound
        place = await self._note_place(activity, inbound.address, inbound.sender_name)
        if not isinstance(inbound, InboundMessage) or inbound.address.chat_type is not ChatType.CHANNEL:
            return inbound
        thread = inbound.address.thread or ""
        if thread == inbound.message_id and inbound.text:
            await self._topics.put(thread, inbound.text[:TOPIC_CHARS])
        names = {"group_name": place.name or None, "space_name": place.team_name or None}
        return replace(inbound, topic_name=self._topics.get(thread), **names)

    async def _note_place(self, activity: Json, address: Address, name: str | None) -> TeamsPlace:
        """Keep where a conversation is written to: nothing can be said there without it, also after a restart."""
        known, service = self._places.get(address.peer), str(activity["serviceUrl"])
        user = str(activity["from"].get("id") or "") if address.chat_type is ChatType.DIRECT else ""
        if known is None or known.service != service or not known.name or known.user != user:
            room, team = await self._names_of(activity, address, service)
            place = TeamsPlace(service, room or name or "", address.chat_type, address.space, team, user)
            if place != known and self._api.is_service(service):
                await self._places.put(address.peer, place)
            return place
        return known

    async def _names_of(self, activity: Json, address: Address, service: str) -> tuple[str, str]:
        """Return the names of a room and of its team; for those of a channel Teams has to be asked, once."""
        if address.chat_type is not ChatType.CHANNEL or address.space is None:
            return str(activity["conversation"].get("name") or ""), ""
        try:
            async with asyncio.timeout(NAMES_LIMIT_S):
                team = await self._api.call("GET", service, f"v3/teams/{quote(address.space, safe='')}")
                rooms = await self._rooms_of(service, address.space)
                return rooms.get(address.peer) or "", str(team.get("name") or "")
        except (HubError, TimeoutError) as error:
            _log.warning("msteams: the name of a channel is not known: %s", error)
            return "", ""

    async def _rooms_of(self, service: str, team: str) -> dict[str, str]:
        """Return the channels of a team by their ids; the first one of each has no name of its own."""
        page = await self._api.call("GET", service, f"v3/teams/{quote(team, safe='')}/conversations")
        return {each["id"]: each.get("name") or "General" for each in page.get("conversations") or ()}

    async def _members_of(self, service: str, team: str) -> tuple[dict[str, str], bool]:
        """Return the members of a team by their ids, as far as a few pages go, and whether there are more."""
        path, more = f"v3/conversations/{quote(team, safe='')}/pagedmembers?pageSize={MEMBERS_PAGE}", ""
        found: dict[str, str] = {}
        for _ in range(MEMBERS_PAGES):
            page = await self._api.call("GET", service, path + more)
            found |= {each["id"]: str(each.get("name") or "") for each in page.get("members") or ()}
            if not (token := page.get("continuationToken")):
                return found, False
            more = f"&continuationToken={quote(token, safe='')}"
        return found, True

    async def _note_new_name(self, activity: Json) -> None:
        """Ask for the names of a channel again that is known already."""
        room = activity["channelData"].get("channel") or {}
        address = replace(address_of(activity, self.account), peer=str(room.get("id") or ""), thread=None)
        known = self._places.get(address.peer)
        if known is not None:
            await self._places.put(address.peer, replace(known, name=""))
            await self._note_place(activity, address, None)

    async def _note_installation(self, activity: Json) -> None:
        """Keep where the bot was added by somebody who may talk to it."""
        address = address_of(activity, self.account)
        probe = InboundMessage(address, "-", f"msteams:user:{activity['from'].get('aadObjectId') or '-'}", "")
        if self._receive.admits(probe):
            await self._note_place(activity, address, activity["from"].get("name"))

    async def _tell(self, address: Address, text: str) -> None:
        """Say something whose loss does not matter."""
        await delivery_of(self._post(address, text_activity(text, plain=True)))

    # --- files ---

    def _answer_consent(self, activity: Json) -> None:
        """Put a file where somebody wants it; the answer does not wait for that."""
        value, address = activity["value"], address_of(activity, self.account)
        file = self._files.get(value["context"]["id"])
        if file is None or file.peer != address.peer:
            _log.warning("msteams: consent to a file that was not offered there")
            return
        accepted, upload = value["action"] == "accept", value.get("uploadInfo") or {}
        self._tasks.spawn(self._hand_over(address, file, upload if accepted else None), name="hand over a file")
        if card := activity.get("replyToId"):
            self._tasks.spawn(delivery_of(self._on(address, "DELETE", card)), name="take a question back")

    async def _hand_over(self, address: Address, file: OfferedFile, upload: Json | None) -> None:
        answer = file_card(dict(upload)) if upload is not None else self._said("file.declined", file)
        try:
            if upload is not None:
                await self._api.upload(upload["uploadUrl"], await asyncio.to_thread(Path(file.path).read_bytes))
        except OSError:
            answer = self._said("file.gone", file)
        except HubError as error:
            answer = self._said("file.failed", file, why=error.message)
        await delivery_of(self._post(address, answer))

    def _said(self, key: str, file: OfferedFile, **more: Any) -> dict[str, Any]:
        return text_activity(say(key, self._language(), name=file.name, **more), plain=True)

    # --- out ---

    async def _send(self, message: OutboundMessage) -> str:
        message = replace(message, address=await self._chat_with(message.address))
        if message.media:  # the outbox makes a message of each, without a text
            return await self._send_file(message, message.media[0])
        activity = button_card(message) if message.buttons else text_activity(message.text)
        plain = None if message.buttons else message.text
        if shown := await self._streams.finish(message.address, message.run_id, activity, plain):
            return shown
        return await self._post(message.address, activity, plain=plain)

    async def _send_file(self, message: OutboundMessage, media: OutboundMedia) -> str:
        """Show a picture, or ask whether a file is wanted; the answer to that comes later."""
        content, name = await asyncio.to_thread(Path(media.path).read_bytes), media.name or Path(media.path).name
        direct = message.address.chat_type is ChatType.DIRECT
        if (shown := picture(media, content)) is not None:
            try:
                return await self._post(message.address, shown)
            except PlatformError as error:
                if error.status != 413 or not direct:
                    raise
        if not direct:
            text = "files go into direct messages alone, and pictures of up to 1 MB"
            raise self._api.error(DeliveryState.PERMANENT, text)
        await self._files.put(message.id, OfferedFile(message.address.peer, media.path, name))
        described = say("file.offered", self._language())
        return await self._post(message.address, consent_card(name, len(content), message.id, described))

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        """Show the answer so far; see `TeamsStreams`."""
        await self._streams.show(address, draft_id, text)

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll, as a card."""
        return await delivery_of(self._post(poll.address, poll_card(poll, say("poll.vote", self._language()))))

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a message another text; its buttons go."""
        return await delivery_of(self._on(address, "PUT", platform_id, text_activity(text)))

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Delete a message; one that no longer exists counts as deleted."""
        return await delivery_of(self._on(address, "DELETE", platform_id), done_already=GONE)

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written; a channel shows it in its threads alone."""
        if address.chat_type is not ChatType.CHANNEL or address.thread:
            await self._post(address, {"type": "typing"})

    async def open_thread(self, address: Address, title: str) -> Address:
        """Begin a thread with a post that is its title."""
        if address.chat_type is not ChatType.CHANNEL:
            raise InvalidRequest("Microsoft Teams has threads in channels alone")
        if address.thread:
            return address
        return replace(address, thread=await self._post(address, text_activity(title)))

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return people and rooms that the bot was spoken to in, and the channels and members of their teams."""
        places = self._places.items()
        found = {peer: DirectoryEntry(peer, place.name, place.kind) for peer, place in places}
        chats = {place.user: peer for peer, place in places if place.user}
        teams = {place.team: place.service for _, place in places if place.team}
        is_cut = len(teams) > TEAMS_ASKED
        for team, service in list(teams.items())[:TEAMS_ASKED]:
            for peer, name in (await self._rooms_of(service, team)).items():
                found.setdefault(peer, DirectoryEntry(peer, name, ChatType.CHANNEL))
            members, has_more = await self._members_of(service, team)
            is_cut = is_cut or has_more
            for user, name in members.items():
                peer = chats.get(user, user)
                if peer not in found or not found[peer].name:
                    found[peer] = DirectoryEntry(peer, name)
        named = [each for each in found.values() if each.name and query.casefold() in each.name.casefold()][:limit]
        return SomeEntries(named) if is_cut else named

    async def _post(self, address: Address, activity: dict[str, Any], *, plain: str | None = None) -> str:
        """Return the id of what was posted; in a channel without a thread it begins one.

        Args:
            plain: What to post in its place, as plain text, if Teams refuses its markup.
        """
        address = await self._chat_with(address)
        try:
            if address.chat_type is ChatType.CHANNEL and not address.thread:
                place = {"channel": {"id": address.peer}}
                body = {"isGroup": True, "channelData": place, "tenantId": self._config.tenant, "activity": activity}
                answer = await self._asked(self._api.call("POST", self._service(address), "v3/conversations", body))
                return str(answer.get("activityId") or "")
            path = f"v3/conversations/{_id_of(address)}/activities"
            answer = await self._asked(self._api.call("POST", self._service(address), path, activity))
            return str(answer.get("id") or "")
        except PlatformError as error:
            if error.reason != MARKUP_REFUSED or plain is None:
                raise
            return await self._post(address, text_activity(plain, plain=True))

    async def _chat_with(self, address: Address) -> Address:
        """Return the address of a personal chat in place of a person's; it is opened where they never wrote.

        Raises:
            PlatformError: Teams does not open it: then the app is in no team of theirs.
        """
        user = address.peer
        if address.chat_type is not ChatType.DIRECT or not user.startswith(PERSON):
            return address
        places = self._places.items()
        chat = next((peer for peer, place in places if place.user == user), None)
        if chat is None:
            service = next((place.service for _, place in places if place.team), self._config.service_root)
            tenant = self._config.tenant
            body = {"isGroup": False, "bot": {"id": f"28:{self._config.app_id}"}, "members": [{"id": user}]}
            body |= {"tenantId": tenant, "channelData": {"tenant": {"id": tenant}}}
            with surely_not_sent():
                chat = str((await self._asked(self._api.call("POST", service, "v3/conversations", body)))["id"])
            await self._places.put(chat, TeamsPlace(service, user=user))
        return replace(address, peer=chat)

    async def _on(self, address: Address, method: str, id: str, activity: Any = None) -> None:
        address = await self._chat_with(address)
        path = f"v3/conversations/{_id_of(address, id)}/activities/{quote(id, safe='')}"
        await self._asked(self._api.call(method, self._service(address), path, activity))

    def _service(self, address: Address) -> str:
        place = self._places.get(address.peer)
        return place.service if place is not None else self._config.service_root


def _id_of(address: Address, post: str | None = None) -> str:
    """Return the id of a conversation, for a path; that of a thread has that of its first post."""
    root = address.thread or post
    id = address.peer + (f"{THREAD}{root}" if address.chat_type is ChatType.CHANNEL and root else "")
    return quote(id, safe="")


def _with_help(error: PlatformError) -> str:
    return f"{error.message}. See docs/channels/msteams.md."
