"""Hands updates to the hub: chats side by side, in order within each, albums in one piece."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hub.messaging.contract import Inbound, InboundMessage, Receiver
from integrations.channels.telegram.updates import Json, UpdateReader

_log = logging.getLogger(__name__)


class NotTaken(Exception):
    """An update was not stored, and must be offered again; `__cause__` says why."""

    def __init__(self, update_id: int) -> None:
        super().__init__(f"update {update_id} was not stored")
        self.update_id = update_id


class _Read(Struct):
    update: Json
    inbound: Inbound


class Intake:
    """Takes updates of one bot.

    Args:
        reader: Reads them.
        receive: The hub.
        taken: Called with each update that was stored.
    """

    def __init__(self, reader: UpdateReader, receive: Receiver, taken: Callable[[Json], None]) -> None:
        self._reader = reader
        self._receive = receive
        self._taken = taken

    async def take(self, updates: Sequence[Json]) -> None:
        """Store updates; when this returns, all of them are on disk and may be confirmed.

        Raises:
            NotTaken: Names the first that is not; those before it are.
        """
        chats: dict[object, list[Json]] = {}
        for update in updates:
            chats.setdefault(_chat_of(update), []).append(update)
        ended = await asyncio.gather(*map(self._take_chat, chats.values()))
        if failed := [each for each in ended if each is not None]:
            raise min(failed, key=lambda each: each.update_id)

    async def _take_chat(self, updates: Sequence[Json]) -> NotTaken | None:
        for read in _joined([read for update in updates for read in self._read(update)]):
            try:
                await self._receive(read.inbound)
            except Exception as error:  # whatever it is: what is not stored may not be confirmed
                failed = NotTaken(read.update["update_id"])
                failed.__cause__ = error
                return failed
            self._taken(read.update)
        return None

    def _read(self, update: Json) -> list[_Read]:
        try:
            inbound = self._reader.read(update)
        except (KeyError, TypeError, ValueError, AttributeError):
            # It will never be readable: waiting for it would keep everything behind it away.
            _log.exception("an update of Telegram could not be read and was left out: %s", _shape(update))
            return []
        if not inbound:
            self._taken(update)
        return [_Read(update, each) for each in inbound]


def is_album(update: Json) -> bool:
    """Whether an update is a part of an album, whose other parts may be on their way."""
    return "media_group_id" in (update.get("message") or update.get("channel_post") or ())


def _joined(found: list[_Read]) -> list[_Read]:
    """Put the parts of an album into its first message."""
    albums: dict[str, _Read] = {}
    kept = []
    for read in found:
        album = getattr(read.inbound, "album", None)
        first = albums.setdefault(album, read) if album is not None else read
        if first is read:
            kept.append(read)
        elif isinstance(one := first.inbound, InboundMessage) and isinstance(other := read.inbound, InboundMessage):
            first.inbound = replace(
                one,
                text="\n".join(filter(None, (one.text, other.text))),
                media=(*one.media, *other.media),
                mentioned=one.mentioned or other.mentioned,
            )
    return kept


def _chat_of(update: Json) -> object:
    """Return what updates that must stay in order have in common."""
    for body in update.values():
        if isinstance(body, dict):
            chat = body.get("chat") or (body.get("message") or {}).get("chat") or {}
            return chat.get("id") if isinstance(chat, dict) else None
    return None


def _shape(update: Json) -> dict[str, object]:
    """Return what may be logged of an update: nothing that people wrote."""
    return {name: sorted(body) if isinstance(body, dict) else type(body).__name__ for name, body in update.items()}
