"""The channel of one Matrix account: it sends, edits, reacts, asks polls, offers choices and fetches files."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.tasks import TaskOwner
from hub.integration.json_storage import JsonStorage
from hub.messaging.capabilities import DirectoryEntry, ListedCommand
from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChannelLimits,
    ChatType,
    Delivery,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
    Receiver,
    TextUnit,
)
from integrations.channels.http_api import delivery_of, surely_not_sent
from integrations.channels.matrix import writing
from integrations.channels.matrix.answers import await_answer, await_success, refusal, refusal_error
from integrations.channels.matrix.choices import KEYS, Choices, with_choices
from integrations.channels.matrix.files import fetch
from integrations.channels.matrix.keys import share
from integrations.channels.matrix.listening import DIRECT_MEMBERS, USUAL_WAITS, Listening, Waits
from integrations.channels.matrix.login import MatrixAccount, log_in
from integrations.channels.moved_rooms import MovedRooms

if TYPE_CHECKING:
    from nio import AsyncClient

UPLOAD_S = 600.0
TYPING_MS = 30_000
RETRY_S = 5.0
ASIDE_TRIES = 20
"""How often a number is reacted with while the homeserver wants fewer requests, or is away."""
NOTICES_KEPT = 200
DRAFT_INTERVAL_S = 3.0
"""Synapse takes ten messages at once and then one in five seconds: edits at this pace leave room for a minute."""


class MatrixChannel:
    """One account.

    Args:
        account: Its homeserver and user.
        kept: Stores a login made by password.
        keys: The folder for the keys of encrypted rooms.
    """

    name = "matrix"
    limits = ChannelLimits(
        text=10_000,
        unit=TextUnit.BYTES,
        media=frozenset({MediaKind.IMAGE, MediaKind.AUDIO, MediaKind.VIDEO, MediaKind.FILE}),
        media_bytes=50_000_000,
        markup="html",
        buttons=len(KEYS),
        idempotent=True,
        threads=True,
        draft_interval_s=DRAFT_INTERVAL_S,
    )

    def __init__(
        self, account: MatrixAccount, kept: JsonStorage, keys: Path, clock: Clock, waits: Waits = USUAL_WAITS
    ) -> None:
        self.account = account.name
        self._account = account
        self._kept = kept
        self._keys = keys
        self._clock = clock
        self._waits = waits
        self._listening: Listening | None = None
        self._choices: Choices
        self._tasks = TaskOwner(f"matrix {self.account}")
        self._told: deque[tuple[str, str, str]] = deque(maxlen=NOTICES_KEPT)

    async def start(self, receive: Receiver) -> None:
        """Begin to listen; see `Channel`."""
        account, home = self._account, Address(self.name, "", self.account)
        self._choices = Choices(receive)
        self._moved = MovedRooms(receive)
        self._listening = Listening(
            lambda: log_in(account, self._kept, self._keys),
            home,
            receive,
            self._clock,
            self._waits,
            self._choices,
            self._notify,
            self._moved,
        )
        self._tasks.spawn(self._listening.keep(), name="connection")

    async def stop(self) -> None:
        """End listening; the login stays."""
        await self._tasks.cancel_all()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; its id is the transaction's, so that sending it again shows nothing twice.

        Reactions for its choices follow aside: a homeserver that takes few events at once would hold up the chat.
        """
        address = self._moved.as_platform(message.address)

        async def attempt(client: AsyncClient) -> str | None:
            is_known = address.peer not in client.invited_rooms or address.peer in client.rooms
            if self._listening is not None and not is_known and not self._replaces(address.peer):
                with surely_not_sent():
                    await self._listening.enter(address.peer)
            if message.media:
                content = await self._uploaded(client, address.peer, message.media[0])
                content |= {"body": with_choices("", message.buttons)} if message.buttons else {}
            else:
                content = writing.text(with_choices(message.text, message.buttons), silent=message.silent)
            content = writing.with_relations(content, address, message.reply_to)
            sent = await self._put(client, address, "m.room.message", content, message.id)
            if message.buttons and sent is not None:
                await self._choices.sent(sent, message)
                self._aside(self._offer(address, sent), name="offer choices")
            return sent

        return await self._attempt(attempt)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text; its choices go."""
        content, address = writing.edit_content(text, platform_id), self._moved.as_platform(address)

        async def attempt(client: AsyncClient) -> str | None:
            edited = await self._put(client, address, "m.room.message", content, new_id())
            if await self._choices.forget(platform_id):
                self._aside(self.react(address, platform_id, None), name="take back choices")
            return edited

        return await self._attempt(attempt)

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Take a message back."""
        room = self._moved.as_platform(address)
        return await self._attempt(lambda client: _redact(client, room, platform_id))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None takes our reactions back."""
        room = self._moved.as_platform(address)
        if emoji is None:
            return await self._attempt(lambda client: _unreact(client, room, platform_id))
        content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": platform_id, "key": emoji}}
        return await self._attempt(lambda client: self._put(client, room, "m.reaction", content, new_id()))

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""
        content, room = (
            writing.with_relations(writing.poll(poll), poll.address, None),
            self._moved.as_platform(poll.address),
        )
        return await self._attempt(lambda client: self._put(client, room, writing.POLL_START, content, poll.id))

    async def typing(self, address: Address) -> None:
        """Show the typing indicator."""
        with suppress(HubError):
            await await_answer(self._client.room_typing(self._moved.id_now(address.peer), timeout=TYPING_MS))

    def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment; see `CanFetch`."""
        return fetch(self._client, media.reference)

    async def publish_commands(self, commands: Sequence[ListedCommand]) -> None:
        """Register the names of commands, which are written with `!` here; people see no list of them."""
        if self._listening is not None:
            self._listening.commands = frozenset(each.name for each in commands)

    async def probe(self) -> dict[str, Any]:
        """Return whether the homeserver answers, and as whom."""
        try:
            client = self._client
            response = await await_answer(client.whoami())
        except HubError as error:
            return {"ok": False, "error": str(error)}
        user = getattr(response, "user_id", None)
        rooms = client.rooms.values() if user is not None else ()
        missing = [told for room in rooms for told in _missing_in(room, str(user))]
        return {"ok": user is not None, "account_id": user, "rooms": len(client.rooms), "missing": missing}

    async def look_up(self, query: str, limit: int) -> list[DirectoryEntry]:
        """Return rooms of the account whose name or alias holds a text; one with somebody alone is theirs."""
        found = []
        for room in self._client.rooms.values():
            name, asked = str(room.display_name), query.casefold()
            if asked in name.casefold() or asked in str(room.canonical_alias or "").casefold():
                kind = ChatType.DIRECT if room.joined_count <= DIRECT_MEMBERS else ChatType.GROUP
                found.append(DirectoryEntry(self._moved.first_id(room.room_id), name, kind))
        return found[:limit]

    @property
    def _client(self) -> AsyncClient:
        if self._listening is None or self._listening.client is None:
            raise Unavailable("the account is not connected yet", retry_after_s=RETRY_S)
        return self._listening.client

    async def _attempt(self, attempt: Callable[[AsyncClient], Awaitable[Any]]) -> Delivery:
        async def attempted() -> Any:
            return await attempt(self._client)

        return await delivery_of(attempted())

    async def _put(
        self, client: AsyncClient, address: Address, kind: str, content: writing.Content, transaction: str
    ) -> str | None:
        """Send an event, to an encrypted room once its members have the key; return its id."""
        if self._encrypts(client, address.peer):
            with surely_not_sent():
                await share(client, address.peer)
        request = client.room_send(address.peer, kind, content, transaction, ignore_unverified_devices=True)
        return getattr(await await_success(request), "event_id", None)  # a reaction that is there already has none

    async def _offer(self, address: Address, event_id: str) -> None:
        """React to a message with the number of each of its choices, until it has others."""
        for key in self._choices.offered(event_id):
            offered = partial(self._is_offered, event_id, key)
            await self._insist(partial(self.react, address, event_id, key), offered)

    def _is_offered(self, event_id: str, key: str) -> bool:
        return key in self._choices.offered(event_id)

    async def _insist(
        self, send: Callable[[], Awaitable[Delivery]], is_wanted: Callable[[], bool] | None = None
    ) -> None:
        """Send what the outbox does not know of, until it is taken, refused, or not wanted any more."""
        for _ in range(ASIDE_TRIES):
            if is_wanted is not None and not is_wanted():
                return
            delivery = await send()
            if delivery.state not in (DeliveryState.TRANSIENT, DeliveryState.UNKNOWN):
                return
            await self._clock.sleep(delivery.retry_after_s or RETRY_S)

    def _notify(self, pressed: ButtonPressed, notice: str) -> None:
        """Answer a press that does nothing, once: whoever goes on pressing does not fill the room."""
        key = (pressed.message_id, pressed.sender, notice)
        if key in self._told:
            return
        self._told.append(key)
        in_group = pressed.address.chat_type is not ChatType.DIRECT
        text = f"{pressed.sender_name}: {notice}" if in_group and pressed.sender_name else notice
        content = writing.with_relations(writing.text(text, silent=True), pressed.address, pressed.message_id)
        room = self._moved.as_platform(pressed.address)
        transaction = new_id()  # one for all tries: it is said once
        put = partial(self._attempt, lambda client: self._put(client, room, "m.room.message", content, transaction))
        self._aside(self._insist(put), name="answer a press")

    def _aside(self, work: Coroutine[Any, Any, Any], *, name: str) -> None:
        """Do what no message waits for; after the stop, nothing."""
        if self._tasks.closed:
            work.close()
        else:
            self._tasks.spawn(work, name=name)

    def _replaces(self, room_id: str) -> bool:
        """Whether a room took the place of another: sooner or later it is entered by the invitation to it."""
        return self._moved.first_id(room_id) != room_id

    def _encrypts(self, client: AsyncClient, room_id: str) -> bool:
        room = client.rooms.get(room_id)
        if room is None and not self._replaces(room_id) and self._listening is not None and self._listening.is_up:
            raise refusal_error(f"the account is not in the room {room_id}; invite it")
        if room is None:
            raise Unavailable("the rooms are not known yet", retry_after_s=RETRY_S)
        if room.encrypted and client.olm is None:
            raise refusal_error("the room is encrypted; set encryption: true for the account")
        return bool(room.encrypted)

    async def _uploaded(self, client: AsyncClient, room_id: str, file: OutboundMedia) -> writing.Content:
        """Upload a file and return the content that announces it."""
        path = Path(file.path)
        encrypt = self._encrypts(client, room_id)
        size = (await asyncio.to_thread(path.stat)).st_size
        name = None if encrypt else file.name
        uploading = client.upload(lambda _, __: str(path), file.mime_type, name, encrypt=encrypt, filesize=size)
        with surely_not_sent():
            uploaded, keys = await await_answer(uploading, UPLOAD_S)
        if (reason := refusal(uploaded)) is not None:
            raise refusal_error(reason)
        return writing.media(file, size, uploaded.content_uri, keys)


def _missing_in(room: Any, user: str) -> Iterator[str]:
    """Yield what the account may not do in a room, by its power levels."""
    levels = room.power_levels
    if not levels.can_user_send_message(user):
        yield phrase("It may not write in the room {room}.", room=room.display_name)
    elif not all(levels.can_user_send_message(user, event) for event in ("m.reaction", "m.room.redaction")):
        yield phrase("It may not react or delete in the room {room}.", room=room.display_name)


async def _redact(client: AsyncClient, address: Address, event_id: str) -> str:
    redacted = await await_success(client.room_redact(address.peer, event_id, tx_id=f"redact{event_id}"))
    return str(redacted.event_id)


async def _unreact(client: AsyncClient, address: Address, event_id: str) -> None:
    relations = f"rooms/{quote(address.peer)}/relations/{quote(event_id)}/m.annotation/m.reaction"
    headers = {"Authorization": f"Bearer {client.access_token}"}
    answer = await await_answer(client.send("GET", f"/_matrix/client/v1/{relations}?limit=100", headers=headers))
    for each in (await await_answer(answer.json())).get("chunk", ()):
        if each.get("sender") == client.user_id:
            await _redact(client, address, each["event_id"])
