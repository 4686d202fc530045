"""Attachments: fetched after authorisation, within limits, into the agent's workspace under generated names.

Images are shown to the model, voice messages are transcribed when a transcriber is configured, and everything is a file
that the tools of its conversation can read, and no other conversation's.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import MEDIA, Workspaces, media_folder
from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, Unavailable
from hub.core.executors import FILES
from hub.messaging.access.decide import MediaSettings
from hub.messaging.capabilities import CanFetch
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, InboundMessage, Media, MediaKind
from hub.models.contract import Image
from hub.models.images import image_type
from hub.models.transcription import Transcribe
from hub.security.root import Root

_log = logging.getLogger(__name__)

ATTACHMENTS_LIMIT = 10
"""Attachments of one message that are fetched; for the others the model only learns that they exist."""
FETCH_LIMIT_S = 120.0
"""For all attachments of a message."""
IMAGE_LIMIT_BYTES = 5_000_000
DAY_S = 86_400.0

_SUFFIX = re.compile(r"\.[a-z0-9]{1,5}$")
_SUFFIXES = {
    MediaKind.IMAGE: ".jpg",
    MediaKind.AUDIO: ".ogg",
    MediaKind.VIDEO: ".mp4",
    MediaKind.STICKER: ".webp",
    MediaKind.FILE: ".bin",
}


class MediaStore:
    """Fetches attachments.

    Args:
        channels: The channels that have them.
        workspaces: CommandPlace they are kept, one folder for each conversation.
        settings: The current limits.
        transcribe: Returns the transcriber of a sender's recordings; None when none is configured now.
    """

    def __init__(
        self,
        channels: ChannelRegistry,
        workspaces: Workspaces,
        clock: Clock,
        settings: Callable[[], MediaSettings],
        transcribe: Callable[[str], Transcribe | None],
    ) -> None:
        self._channels = channels
        self.workspaces = workspaces
        self._clock = clock
        self._settings = settings
        self._transcribe = transcribe

    async def fetch_attachments(self, message: InboundMessage, agent_id: str, session_key: str) -> InboundMessage:
        """Return an authorised message with its attachments fetched, as far as possible.

        Fetching it again costs no request: a file is known by the account and the platform's reference.
        """
        if not message.media:
            return message
        deadline = asyncio.get_running_loop().time() + FETCH_LIMIT_S
        media: list[Media] = []
        images = list(message.images)
        said: list[str] = []
        for position, each in enumerate(message.media):
            if position >= ATTACHMENTS_LIMIT:
                media.append(replace(each, problem="only the first attachments of a message are fetched"))
                continue
            try:
                path, data = await self._fetch(message.address, each, media_folder(session_key), agent_id, deadline)
            except HubError as error:
                _log.warning("an attachment of %s could not be fetched: %s", message.address.channel, error.message)
                media.append(replace(each, problem=error.message))
                continue
            media.append(replace(each, path=path, size_bytes=len(data)))
            mime_type = image_type(data)
            if mime_type is not None and len(data) <= IMAGE_LIMIT_BYTES:
                images.append(Image(mime_type, base64.b64encode(data).decode()))
            elif each.kind is MediaKind.AUDIO and (text := await self._text_of(data, path, message.sender)):
                said.append(text)
        text = "\n".join([*filter(None, [message.text]), *(f"[voice message] {each}" for each in said)])
        return replace(message, media=tuple(media), images=tuple(images), text=text)

    async def prune_daily(self, agents: Agents) -> None:
        """Delete expired attachments, now and once a day, until cancelled."""
        while True:
            before = self._clock.time() - self._settings().keep_days * DAY_S
            for agent in agents.all():
                await FILES.run(_prune, agent.workspace / MEDIA, before)
            await self._clock.sleep(DAY_S)

    async def _fetch(
        self, address: Address, media: Media, folder: str, agent_id: str, deadline: float
    ) -> tuple[str, bytes]:
        """Return the path of an attachment in the workspace, and its bytes."""
        limit = self._settings().file_bytes
        if media.size_bytes is not None and media.size_bytes > limit:
            raise _too_large(limit)
        account = address.account_id or address.account
        digest = sha256("\0".join((address.channel, account, address.peer, media.reference)).encode()).hexdigest()
        path = f"{folder}/{digest[:24]}{_suffix(media)}"
        root = await FILES.run(self._root, agent_id)
        try:
            return path, await FILES.run(root.read_bytes, path, limit)
        except FileNotFoundError:
            data = await self._download(address, media, limit, deadline)
        await FILES.run(self.workspaces.outside.mark, agent_id, path, data)
        await FILES.run(root.write_bytes, path, data, parents=True, executable=False)
        return path, data

    async def _download(self, address: Address, media: Media, limit: int, deadline: float) -> bytes:
        attached = self._channels.get(address.channel, address.account)
        if attached is None or not isinstance(attached.channel, CanFetch):
            raise Unavailable(f"{address.channel} cannot fetch attachments now")
        taken = bytearray()
        try:
            async with asyncio.timeout_at(deadline):
                async for piece in attached.channel.fetch(address, media):
                    taken += piece
                    if len(taken) > limit:
                        raise _too_large(limit)
        except TimeoutError as error:
            raise Unavailable(f"the attachments did not arrive within {FETCH_LIMIT_S:g} s") from error
        return bytes(taken)

    async def _text_of(self, data: bytes, path: str, sender: str) -> str:
        transcribe = self._transcribe(sender)
        if transcribe is None:
            return ""
        try:
            return (await transcribe(data, path.rpartition("/")[2], None)).strip()
        except HubError as error:
            _log.warning("a voice message could not be transcribed: %s", error.message)
            return ""

    def _root(self, agent_id: str) -> Root:
        if not self.workspaces.is_ready(agent_id):
            self.workspaces.ensure(agent_id)
        return self.workspaces.root(agent_id)


def _suffix(media: Media) -> str:
    """Return a harmless file suffix: only letters of the sender's suffix."""
    found = _SUFFIX.search((media.name or "").lower())
    return found[0] if found else _SUFFIXES[media.kind]


def _too_large(limit: int) -> LimitExceeded:
    return LimitExceeded(f"it is larger than {limit // 1_000_000} MB (messages.media.file_mb)")


def _prune(folder: Path, before: float) -> None:
    """Delete old files below the folders of the conversations, and folders that are left empty."""
    for conversation in folder.iterdir() if folder.is_dir() else ():
        if conversation.is_symlink() or not conversation.is_dir():
            continue
        for file in conversation.iterdir():
            if file.lstat().st_mtime < before and not file.is_dir():
                file.unlink(missing_ok=True)
        if not any(conversation.iterdir()):
            conversation.rmdir()
