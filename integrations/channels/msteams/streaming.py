"""Answers that grow in personal chats by Teams' own streaming; where it is refused or over, by edits of one message.

Each text has to begin with the one before, and a stream ends after two minutes: then what was shown becomes a message,
which is edited from there on.
Source: https://learn.microsoft.com/microsoftteams/platform/bots/streaming-ux
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.messaging.contract import Address, DeliveryState
from integrations.channels.http_api import PlatformError
from integrations.channels.msteams.cards import text_activity

STREAM_S = 110.0
LIVE_LIMIT = 500
REFUSED = frozenset({"ContentStreamNotAllowed", "BadArgument"})
"""Codes for a stream that is not there (any more), or that does not take a text."""
MARKUP_REFUSED = "BadSyntax"

Json = dict[str, Any]
Post = Callable[[Address, Json], Awaitable[str]]
Put = Callable[[Address, str, Json], Awaitable[None]]


class _Live(Struct, eq=False):
    """An answer that is being shown.

    Attributes:
        run: The run that writes it.
        id: The id of the stream, and of the message that it becomes.
        is_message: Whether it is a message, which is edited.
    """

    run: str
    id: str
    text: str
    began: float
    sequence: int = 1
    is_message: bool = False


class TeamsStreams:
    """The answers that are being written.

    Args:
        post: Posts an activity into a chat and returns its id.
        put: Gives a posted activity another content.
    """

    def __init__(self, post: Post, put: Put, clock: Clock) -> None:
        self._post = post
        self._put = put
        self._clock = clock
        self._live: OrderedDict[str, _Live] = OrderedDict()

    async def show(self, address: Address, run: str, text: str) -> None:
        """Show an answer so far.

        Raises:
            PlatformError: It cannot be shown now.
        """
        live = self._live.get(address.peer)
        if live is None or live.run != run:
            self._live[address.peer] = await self._begin(address, run, text)
            self._live.move_to_end(address.peer)
            if len(self._live) > LIVE_LIMIT:
                self._live.popitem(last=False)
            return
        is_over = self._clock.monotonic() - live.began > STREAM_S
        if not live.is_message and not is_over and text.startswith(live.text):
            try:
                await self._post(address, _update(text, live.sequence + 1, live.id))
                live.text, live.sequence = text, live.sequence + 1
                return
            except PlatformError as error:
                if error.reason not in REFUSED:
                    raise
        await self._become_message(address, live)
        await self._put(address, live.id, text_activity(text))

    async def finish(self, address: Address, run: str | None, activity: Json, plain: str | None) -> str | None:
        """Make an answer that was shown its final message, and return its id; None if none was.

        Args:
            plain: What it is in its place, as plain text, if Teams refuses its markup.

        Raises:
            PlatformError: It failed; it may be tried again.
        """
        live = self._live.get(address.peer)
        if live is None or live.run != run:
            return None
        try:
            id = await self._end(address, live, activity)
        except PlatformError as error:
            if error.reason == MARKUP_REFUSED and plain is not None:
                return await self.finish(address, run, text_activity(plain, plain=True), None)
            if error.state is not DeliveryState.PERMANENT:
                raise
            id = None  # what was shown is gone, or cannot be changed
        del self._live[address.peer]
        return id

    async def _begin(self, address: Address, run: str, text: str) -> _Live:
        now = self._clock.monotonic()
        try:
            return _Live(run, await self._post(address, _update(text, 1)), text, now)
        except PlatformError as error:
            if error.reason not in REFUSED:
                raise
        return _Live(run, await self._post(address, text_activity(text)), text, now, is_message=True)

    async def _end(self, address: Address, live: _Live, activity: Json) -> str:
        """End a stream with its last content; where that is not taken, with what was shown, and edit that."""
        if not live.is_message:
            try:
                return await self._post(address, _final(activity, live.id)) or live.id
            except PlatformError as error:
                if error.reason not in REFUSED:
                    raise
        await self._become_message(address, live)
        await self._put(address, live.id, activity)
        return live.id

    async def _become_message(self, address: Address, live: _Live) -> None:
        """End a stream with what was shown; one that Teams has ended is a message already."""
        if live.is_message:
            return
        try:
            shown = {"type": "message", "text": live.text, "textFormat": "markdown"}
            live.id = await self._post(address, _final(shown, live.id)) or live.id
        except PlatformError as error:
            if error.reason not in REFUSED:
                raise
        live.is_message = True


def _update(text: str, sequence: int, stream: str | None = None) -> Json:
    info: Json = {"type": "streaminfo", "streamType": "streaming", "streamSequence": sequence}
    if stream is not None:
        info["streamId"] = stream
    return {"type": "typing", "text": text, "textFormat": "markdown", "entities": [info]}


def _final(activity: Json, stream: str) -> Json:
    return {**activity, "entities": [{"type": "streaminfo", "streamType": "final", "streamId": stream}]}
