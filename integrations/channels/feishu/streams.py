"""Cards whose text grows before the reader's eyes, by CardKit.

Source: https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import msgspec

from hub.core.clock import Clock
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.messaging.contract import DeliveryState
from integrations.channels.feishu.api import SCOPE_MISSING, STREAM_CLOSED, FeishuApi
from integrations.channels.feishu.cards import ELEMENT, markdown_of
from integrations.channels.http_api import PlatformError

_log = logging.getLogger(__name__)

QUIET_S = 3.0
"""A card that was left alone for so long is finished; until then people cannot forward it."""
CARDS_LIMIT = 200


class _Stream(msgspec.Struct):
    """A card.

    Attributes:
        sequence: Of the last change; each must be greater.
        changing: Held while the card is changed: a text that is on its way would find a card finished meanwhile.
    """

    card: str
    sequence: int
    is_open: bool = False
    written_at: float = 0.0
    changing: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class CardStreams:
    """The cards of one app that grow."""

    def __init__(self, api: FeishuApi, clock: Clock, tasks: TaskOwner) -> None:
        self._api = api
        self._clock = clock
        self._tasks = tasks
        self._streams: dict[str, _Stream] = {}
        self._allowed = True

    async def write(self, message: str, text: str) -> bool:
        """Let a card show a text; False when it has to be replaced as a whole.

        Raises:
            PlatformError: It failed for now, or its answer was lost.
        """
        if not self._allowed:
            return False
        stream = self._streams.get(message)
        try:
            stream = stream or await self._found(message)
            async with stream.changing:
                if not stream.is_open:
                    await self._set(stream, streaming=True)
                    stream.is_open = True
                    stream.written_at = self._clock.monotonic()
                    self._tasks.spawn(self._finish(stream), name="finish a card")
                path = f"cardkit/v1/cards/{stream.card}/elements/{ELEMENT}/content"
                await self._change("PUT", path, stream, content=markdown_of(text))
                stream.written_at = self._clock.monotonic()
        except PlatformError as error:
            if error.state is not DeliveryState.PERMANENT:
                raise
            if error.reason == SCOPE_MISSING:
                self._allowed = False
            elif error.reason == STREAM_CLOSED and stream is not None:  # ten minutes after it was opened
                stream.is_open = False
            _log.info("feishu: a card does not grow: %s", error)
            return False
        return True

    async def _found(self, message: str) -> _Stream:
        answer = await self._api.call("POST", "cardkit/v1/cards/id_convert", json={"message_id": message})
        self._streams[message] = stream = _Stream(str(answer["data"]["card_id"]), 0)
        if len(self._streams) > CARDS_LIMIT:
            del self._streams[next(iter(self._streams))]
        return stream

    async def _finish(self, stream: _Stream) -> None:
        while stream.is_open:
            await self._clock.sleep(max(0.0, stream.written_at + QUIET_S - self._clock.monotonic()))
            async with stream.changing:
                if self._clock.monotonic() - stream.written_at >= QUIET_S:
                    await self._close(stream)

    async def _close(self, stream: _Stream) -> None:
        if not stream.is_open:
            return
        stream.is_open = False
        try:
            await self._set(stream, streaming=False)
        except PlatformError as error:
            _log.info("feishu: a card is finished by itself ten minutes after it began: %s", error)

    async def _set(self, stream: _Stream, *, streaming: bool) -> None:
        settings = json.dumps({"config": {"streaming_mode": streaming}})
        await self._change("PATCH", f"cardkit/v1/cards/{stream.card}/settings", stream, settings=settings)

    async def _change(self, method: str, path: str, stream: _Stream, **change: Any) -> None:
        # Greater than those of an earlier run too; Feishu takes 31 bits.
        stream.sequence = max(stream.sequence + 1, int(self._clock.time() * 10) & 0x3FFFFFFF)
        await self._api.call(method, path, json={**change, "sequence": stream.sequence, "uuid": new_id()})
