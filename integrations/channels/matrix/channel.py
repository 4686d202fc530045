"""The channel of one Matrix account: it listens, sends, edits, reacts, asks polls and fetches files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.ids import new_id
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    Address,
    ChannelLimits,
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
from integrations.channels.matrix import writing
from integrations.channels.matrix.answers import asked, delivery, refusal
from integrations.channels.matrix.files import fetch
from integrations.channels.matrix.keys import share
from integrations.channels.matrix.listening import USUAL_WAITS, Listening, Waits
from integrations.channels.matrix.login import LoginRefused, MatrixAccount, log_in
from integrations.channels.matrix.reading import RecentEvents

if TYPE_CHECKING:
    from nio import AsyncClient

UPLOAD_S = 600.0
TYPING_MS = 30_000
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 120.0
_NOT_YET = Delivery(DeliveryState.TRANSIENT, error="the account is not connected yet", retry_after_s=5.0)

logger = logging.getLogger(__name__)


class MatrixChannel:
    """One account.

    Args:
        account: Where it is logged in, and as whom.
        kept: Keeps a login made by password.
        keys: The folder for the keys of encrypted rooms.
    """

    name = "matrix"
    limits = ChannelLimits(
        text=10_000,
        unit=TextUnit.BYTES,
        media=frozenset({MediaKind.IMAGE, MediaKind.AUDIO, MediaKind.VIDEO, MediaKind.FILE}),
        media_bytes=50_000_000,
        markup="html",
        idempotent=True,
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
        self._recent = RecentEvents()
        self._client: AsyncClient | None = None
        self._listening: Listening | None = None
        self._task: asyncio.Task[None] | None = None
        self._commands: frozenset[str] = frozenset()

    async def start(self, receive: Receiver) -> None:
        """Begin to listen; see `Channel`."""
        self._task = asyncio.create_task(self._listen(receive), name=f"matrix {self.account}")

    async def stop(self) -> None:
        """End listening; the login stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _listen(self, receive: Receiver) -> None:
        wait = FIRST_WAIT_S
        while True:
            stated = 0.0
            try:
                await self._listen_once(receive)
            except LoginRefused as error:
                # A password makes another login, unless this was that one.
                if self._account.password is None or not self._is_ready:
                    receive.disconnected(str(error), permanent=True)
                    return
            except HubError as error:
                receive.disconnected(str(error))
                stated = error.retry_after_s or 0.0
            except Exception as error:  # whatever the library trips over, the account is read on
                logger.exception("matrix: reading %s failed", self._account.user_id)
                receive.disconnected(f"reading failed: {error}")
            finally:
                if self._is_ready:
                    wait = FIRST_WAIT_S
                client, self._client, self._listening = self._client, None, None
                if client is not None:
                    await client.close()
            await self._clock.sleep(max(wait, stated))
            wait = min(2 * wait, LONGEST_WAIT_S)

    @property
    def _is_ready(self) -> bool:
        return self._listening is not None and self._listening.ready

    async def _listen_once(self, receive: Receiver) -> None:
        client = await log_in(self._account, self._kept, self._keys)
        self._client = client
        receive.connected(client.user_id, client.user_id)
        home = Address(self.name, "", self.account)
        self._listening = Listening(
            client, home, receive, self._recent, self._clock, self._waits, lambda: self._commands
        )
        await self._listening.run()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Send a message; its id is the transaction's, so that sending it again shows nothing twice."""
        ids: list[str] = []
        for number, file in enumerate(message.media):
            sent = await self._send_file(message, file, f"{message.id}.{number}")
            if sent.state is not DeliveryState.DELIVERED:
                return sent
            ids += sent.platform_ids
        if message.text or not message.media:
            content = writing.related(
                writing.text(message.text, silent=message.silent), message.address, message.reply_to
            )
            sent = await self._send_event(message.address, "m.room.message", content, message.id)
            if sent.state is not DeliveryState.DELIVERED:
                return sent
            ids += sent.platform_ids
        return Delivery(DeliveryState.DELIVERED, tuple(ids))

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a sent message another text."""
        return await self._send_event(address, "m.room.message", writing.edited(text, platform_id), new_id())

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        """Take a message back."""
        client = self._client
        if client is None:
            return _NOT_YET
        return await delivery(client.room_redact(address.peer, platform_id, tx_id=f"redact{platform_id}"))

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        """React to a message; None takes our reactions back."""
        if emoji is None:
            return await self._unreact(address, platform_id)
        relation = {"rel_type": "m.annotation", "event_id": platform_id, "key": emoji}
        return await self._send_event(address, "m.reaction", {"m.relates_to": relation}, new_id())

    async def poll(self, poll: OutboundPoll) -> Delivery:
        """Open a poll."""
        content = writing.related(writing.poll(poll), poll.address, None)
        return await self._send_event(poll.address, writing.POLL_START, content, poll.id)

    async def typing(self, address: Address) -> None:
        """Show that the assistant writes."""
        if self._client is not None:
            await delivery(self._client.room_typing(address.peer, timeout=TYPING_MS))

    def fetch(self, address: Address, media: Media) -> AsyncIterator[bytes]:
        """Yield an attachment; see `CanFetch`."""
        if self._client is None:
            raise Unavailable("the account is not connected yet")
        return fetch(self._client, media.reference)

    async def publish_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Take the names of commands, which are written with `!` here; there is no list of them for people."""
        self._commands = frozenset(name for name, _ in commands)

    async def probe(self) -> dict[str, Any]:
        """Return whether the homeserver answers, and as whom."""
        client = self._client
        if client is None:
            return {"ok": False, "error": "the account is not connected"}
        try:
            response: Any = await asked(client.whoami())
        except HubError as error:
            return {"ok": False, "error": str(error)}
        user = getattr(response, "user_id", None)
        return {"ok": user is not None, "account_id": user, "rooms": len(client.rooms)}

    async def _unreact(self, address: Address, platform_id: str) -> Delivery:
        client = self._client
        if client is None:
            return _NOT_YET
        relations = f"rooms/{quote(address.peer)}/relations/{quote(platform_id)}/m.annotation/m.reaction"
        headers = {"Authorization": f"Bearer {client.access_token}"}
        try:
            path = f"/_matrix/client/v1/{relations}?limit=100"
            found = await asked((await asked(client.send("GET", path, headers=headers))).json())
        except HubError as error:
            return Delivery(DeliveryState.TRANSIENT, error=str(error), retry_after_s=error.retry_after_s)
        ours = [each["event_id"] for each in found.get("chunk", ()) if each.get("sender") == client.user_id]
        sent = [await self.delete(address, each) for each in ours]
        return next(
            (each for each in sent if each.state is not DeliveryState.DELIVERED), Delivery(DeliveryState.DELIVERED)
        )

    async def _send_event(self, address: Address, kind: str, content: dict[str, Any], id: str) -> Delivery:
        client = self._client
        if client is None:
            return _NOT_YET
        refused = await self._prepared(client, address.peer)
        if refused is not None:
            return refused
        request = client.room_send(address.peer, kind, content, id, ignore_unverified_devices=True)
        return await delivery(request)

    async def _prepared(self, client: AsyncClient, room_id: str) -> Delivery | None:
        """Give the members of an encrypted room the key of what is sent; return why it cannot be sent."""
        room = client.rooms.get(room_id)
        if room is None:
            return Delivery(DeliveryState.PERMANENT, error=f"not in the room {room_id}") if self._is_ready else _NOT_YET
        if not room.encrypted:
            return None
        if client.olm is None:
            return Delivery(
                DeliveryState.PERMANENT, error="the room is encrypted; set encryption: true for the account"
            )
        try:
            await share(client, room_id)
        except HubError as error:
            return Delivery(DeliveryState.TRANSIENT, error=str(error), retry_after_s=error.retry_after_s)
        return None

    async def _send_file(self, message: OutboundMessage, file: OutboundMedia, id: str) -> Delivery:
        client = self._client
        if client is None:
            return _NOT_YET
        path = Path(file.path)
        room = client.rooms.get(message.address.peer)
        encrypt = room is not None and room.encrypted and client.olm is not None
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
            uploading = client.upload(
                lambda _, __: str(path), file.mime_type, None if encrypt else file.name, encrypt=encrypt, filesize=size
            )
            uploaded, keys = await asked(uploading, UPLOAD_S)
        except OSError as error:
            return Delivery(DeliveryState.PERMANENT, error=f"{path.name} cannot be read: {error}")
        except HubError as error:
            return Delivery(DeliveryState.TRANSIENT, error=str(error), retry_after_s=error.retry_after_s)
        if (refused := refusal(uploaded)) is not None:
            return Delivery(DeliveryState.PERMANENT, error=refused)
        content = writing.media(file, size, uploaded.content_uri, keys)
        return await self._send_event(
            message.address, "m.room.message", writing.related(content, message.address, message.reply_to), id
        )
