"""The client of a linked device by neonize, whose core is whatsmeow, a library in Go."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from hub.core.extras import install_command
from hub.messaging.contract import MediaKind
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.whatsapp_web.client import LinkCode, failure

DEVICE_NAME = "Homarus"
THREADS = 4
"""Calls into the library block; these are not taken from the threads that the hub shares."""
EVENTS = (
    *("PairStatus", "Connected", "KeepAliveTimeout", "KeepAliveRestored", "LoggedOut", "StreamReplaced"),
    *("TemporaryBan", "ConnectFailure", "ClientOutdated", "Disconnected", "Message", "Receipt", "GroupInfoEvent"),
)
_MEDIA = {
    MediaKind.IMAGE: "MediaImage",
    MediaKind.STICKER: "MediaImage",
    MediaKind.VIDEO: "MediaVideo",
    MediaKind.AUDIO: "MediaAudio",
    MediaKind.FILE: "MediaDocument",
}


class NeonizeClient:
    """A client whose session is one SQLite file, which only the hub's user may read."""

    def __init__(self, session: Path) -> None:
        from neonize.client import NewClient
        from neonize.proto.waCompanionReg.WAWebProtobufsCompanionReg_pb2 import DeviceProps

        self._session = session
        self._pool = ThreadPoolExecutor(THREADS, "whatsapp_web")
        props = DeviceProps(os=DEVICE_NAME, platformType=DeviceProps.DESKTOP)
        self._client: Any = NewClient(str(session), props=props, uuid=str(session))

    @classmethod
    async def open(cls, session: Path) -> Self:
        """Import the library, and prepare the session's file.

        Raises:
            AccountRefused: The library, or one that it needs, is not installed.
        """
        try:
            await asyncio.to_thread(import_module, "neonize")
        except ImportError as error:
            raise AccountRefused(f"a package is missing ({error}); run: {install_command('whatsapp-web')}") from error
        await asyncio.to_thread(_make_private, session)
        return cls(session)

    async def is_linked(self) -> bool:
        """See `WebClient`."""
        from neonize.client import ClientFactory

        try:
            return bool(await self._call(ClientFactory.get_all_devices_from_db, str(self._session)))
        except ValueError:  # it cannot read a name with a comma, but of a device that is there
            return True

    async def run(self, hear: Callable[[Any], None]) -> None:
        """See `WebClient`."""
        from neonize.proto import Neonize_pb2

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def say(event: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(hear, event)

        def end(error: Exception | None) -> None:
            if ended.done():
                return
            if error is None:
                ended.set_result(None)
            else:
                ended.set_exception(failure(str(error)))

        def connect() -> None:
            error = None
            try:
                self._client.connect()
            except Exception as raised:  # whatever ends this thread is told to the loop
                error = raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(end, error)

        for name in EVENTS:
            self._client.event(getattr(Neonize_pb2, name))(lambda _, event: say(event))
        self._client.qr(lambda _, text: say(LinkCode(text.decode())))
        threading.Thread(target=connect, name="whatsapp_web connection", daemon=True).start()
        await ended

    async def close(self) -> None:
        """See `WebClient`."""
        try:
            await self._call(self._client.stop)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def is_connected(self) -> bool:
        """See `WebClient`."""
        return bool(await self._call(lambda: self._client.is_connected))

    async def pairing_code(self, number: str) -> str:
        """See `WebClient`."""
        return str(await self._call(self._client.PairPhone, number, True))

    async def me(self) -> Any:
        """See `WebClient`."""
        return await self._call(self._client.get_me)

    async def phone_of(self, lid: str) -> str | None:
        """See `WebClient`."""
        return await self._other_name(self._client.get_pn_from_lid, lid)

    async def lid_of(self, phone: str) -> str | None:
        """See `WebClient`."""
        return await self._other_name(self._client.get_lid_from_pn, phone)

    async def _other_name(self, look_up: Callable[..., Any], jid: str) -> str | None:
        try:
            found = await self._call(look_up, _jid(jid))
        except PlatformError:
            return None  # it is not known, or not yet
        return f"{found.User}@{found.Server}" if found.User else None

    async def send(self, chat: str, message: Any) -> str:
        """See `WebClient`."""
        return str((await self._call(self._client.send_message, _jid(chat), message)).ID)

    async def upload(self, content: bytes, kind: MediaKind) -> Any:
        """See `WebClient`."""
        from neonize.utils.enum import MediaType

        return await self._call(self._client.upload, content, MediaType[_MEDIA[kind]])

    async def download(self, message: bytes) -> bytes:
        """See `WebClient`."""
        from neonize.proto.waE2E.WAWebProtobufsE2E_pb2 import Message

        return bytes(await self._call(self._client.download_any, Message.FromString(message)))

    async def votes_of(self, event: Any) -> Sequence[bytes]:
        """See `WebClient`."""
        return list((await self._call(self._client.decrypt_poll_vote, event)).selectedOptions)

    async def mark_read(self, id: str, chat: str, sender: str) -> None:
        """See `WebClient`."""
        from neonize.utils.enum import ReceiptType

        read = partial(self._client.mark_read, id, chat=_jid(chat), sender=_jid(sender), receipt=ReceiptType.READ)
        await self._call(read)

    async def show_typing(self, chat: str) -> None:
        """See `WebClient`."""
        from neonize.utils.enum import ChatPresence, ChatPresenceMedia

        typing, text = ChatPresence.CHAT_PRESENCE_COMPOSING, ChatPresenceMedia.CHAT_PRESENCE_MEDIA_TEXT
        await self._call(self._client.send_chat_presence, _jid(chat), typing, text)

    async def group(self, jid: str) -> Any:
        """See `WebClient`."""
        return await self._call(self._client.get_group_info, _jid(jid))

    async def groups(self) -> Sequence[Any]:
        """See `WebClient`."""
        return list(await self._call(self._client.get_joined_groups))

    async def contacts(self) -> Sequence[Any]:
        """See `WebClient`."""
        return list(await self._call(self._client.contact.get_all_contacts))

    async def _call(self, work: Callable[..., Any], *given: Any) -> Any:
        from neonize.exc import NeonizeError

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)
        except NeonizeError as error:
            raise failure(str(error)) from error
        except RuntimeError as error:  # no thread takes work after `close`
            raise failure("websocket not connected") from error


def _make_private(session: Path) -> None:
    session.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(session, os.O_CREAT | os.O_RDWR, 0o600))  # what SQLite puts beside it has the same mode
    session.chmod(0o600)


def _jid(text: str) -> Any:
    from neonize.utils.jid import build_jid

    user, _, server = text.rpartition("@")
    return build_jid(user, server)
