"""A provider under the registry's control: requests fitted to the model, calls counted and priced, health noted."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest
from hub.models.contract import (
    FormatError,
    Image,
    Message,
    ModelError,
    ModelEvent,
    ModelInfo,
    ModelProvider,
    ModelRequest,
    StopEvent,
    TextBlock,
    ToolCallBlock,
    ToolCallEvent,
    Usage,
    UsageEvent,
)
from hub.models.health import Health
from hub.models.speech import CanListSpeech, CanSpeak, SpeechModel, SpeechRequest
from hub.models.thinking import is_thinking_refusal, lower_level
from hub.models.transcription import CanListen, CanTranscribe, SpeechPiece, TellWords

_log = logging.getLogger(__name__)

LEVELS_LIMIT = 1_000
ARGUMENTS_DEPTH_LIMIT = 64
"""Tool arguments nested deeper are refused, since encoders and later walks are recursive."""
_CONTENT = attrgetter("content")


class ManagedProvider:
    """Wraps a provider; is one itself.

    Args:
        inner: The wrapped provider.
        info_of: Returns the properties of a model of this provider.
        health: Records how each call ended.
        idle: Called when the last call ends after `retire`, to close it.
        renewed: Returns the replacement of `inner` when its sign-in was renewed, else None.
    """

    def __init__(
        self,
        inner: ModelProvider,
        info_of: Callable[[str], ModelInfo],
        health: Health,
        idle: Callable[[ManagedProvider], None],
        renewed: Callable[[], Awaitable[ModelProvider | None]] | None = None,
    ) -> None:
        self.name = inner.name
        self.inner = inner
        self.health = health
        self._info_of = info_of
        self._idle = idle
        self._active = 0
        self._retired = False
        self._renewed = renewed
        self._replaced: list[ModelProvider] = []
        self._levels: dict[tuple[str, str], str | None] = {}

    @property
    def active(self) -> int:
        """The number of calls in progress."""
        return self._active

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """See `ModelProvider.stream`; usage carries its cost when the price is known.

        A level of thinking that the model refuses is lowered until it takes one, and remembered.
        """
        info = self._info_of(request.model)
        self._active += 1
        asked = fit_request(request, info)
        fitted = replace(asked, thinking=self._level(asked)) if self._levels else asked
        try:
            await self._renew()
            while True:
                events, begun = self.inner.stream(fitted), False
                try:
                    async for event in events:
                        begun = True
                        if type(event) is UsageEvent:
                            yield UsageEvent(with_cost(event.usage, info))
                            continue
                        if type(event) is ToolCallEvent:
                            yield ToolCallEvent(bound_call(event.call))
                            continue
                        if type(event) is StopEvent:
                            self.health.record_success(request.model)
                        yield event
                    return
                except FormatError as error:
                    if begun or fitted.thinking is None or not is_thinking_refusal(error.message):
                        raise
                    fitted = self._lowered(fitted, fitted.thinking, error)
                finally:
                    if isinstance(events, AsyncGenerator):
                        await events.aclose()
        except ModelError as error:
            self.health.record_failure(request.model, error)
            raise
        except HubError:
            raise
        except Exception as error:  # an integration's mistake must reach people as an error of that provider
            _log.exception("provider %s failed on model %s", self.name, request.model)
            raise FormatError(
                f"The provider {self.name} failed in an unexpected way ({type(error).__name__}); see the log."
            ) from error
        finally:
            self._active -= 1
            if self._retired and not self._active:
                self._idle(self)

    def _lowered(self, request: ModelRequest, level: str, error: FormatError) -> ModelRequest:
        lower = lower_level(level, error.message)
        if len(self._levels) >= LEVELS_LIMIT:
            self._levels.clear()
        self._levels[request.model, level] = lower
        lowered = replace(request, thinking=self._level(request))
        _log.info("%s/%s refuses the thinking %s; asking for %s", self.name, request.model, level, lowered.thinking)
        return lowered

    def _level(self, request: ModelRequest) -> str | None:
        """Return the thinking level to ask for: the requested one, or its replacement after a refusal."""
        level, refused = request.thinking, set()
        while level is not None and (request.model, level) in self._levels:
            refused.add(level)
            level = self._levels[request.model, level]
            if level in refused:
                return None
        return level

    def info(self, model_id: str) -> ModelInfo:
        """Return the properties of one of its models."""
        return self._info_of(model_id)

    async def models(self) -> list[ModelInfo]:
        """See `ModelProvider.models`."""
        return await self.inner.models()

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        """See `CanTranscribe.transcribe`."""
        if not isinstance(self.inner, CanTranscribe):
            raise InvalidRequest(
                f"{self.name} cannot transcribe: name a model of another provider in messages.media.transcription_model"
            )
        with self._counted():
            return await self.inner.transcribe(model, data, name, language)

    @property
    def can_listen(self) -> bool:
        """Whether it takes sound while it is spoken."""
        return isinstance(self.inner, CanListen)

    async def listen(
        self,
        model: str,
        pieces: AsyncIterator[SpeechPiece],
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool = True,
    ) -> str:
        """See `CanListen.listen`."""
        if not isinstance(self.inner, CanListen):
            raise InvalidRequest(f"{self.name} takes recordings alone")
        with self._counted():
            return await self.inner.listen(model, pieces, language, tell, may_work=may_work)

    async def speak(self, request: SpeechRequest) -> bytes:
        """See `CanSpeak.speak`."""
        if not isinstance(self.inner, CanSpeak):
            raise InvalidRequest(f"{self.name} cannot speak: name a model of another provider in speech.model")
        with self._counted():
            return await self.inner.speak(request)

    async def speech_models(self) -> list[SpeechModel]:
        """See `CanListSpeech.speech_models`; none of a provider that does not say."""
        if not isinstance(self.inner, CanListSpeech):
            return []
        with self._counted():
            return await self.inner.speech_models()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a call in progress."""
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1
            if self._retired and not self._active:
                self._idle(self)

    async def close(self) -> None:
        """Close connections."""
        replaced, self._replaced = self._replaced, []
        for provider in (self.inner, *replaced):
            await provider.close()

    async def _renew(self) -> None:
        """Use a renewed sign-in; calls in progress keep the old one."""
        if self._renewed is not None and (fresh := await self._renewed()) is not None:
            self._replaced.append(self.inner)
            self.inner = fresh
        if self._replaced and self._active == 1:
            replaced, self._replaced = self._replaced, []
            for provider in replaced:
                await provider.close()

    def retire(self) -> None:
        """Close once all calls in progress have ended."""
        self._retired = True
        if not self._active:
            self._idle(self)


def bound_call(call: ToolCallBlock) -> ToolCallBlock:
    """Return a tool call with bounded arguments: too deep ones count as malformed."""
    waiting: list[tuple[Any, int]] = [(call.arguments, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > ARGUMENTS_DEPTH_LIMIT:
            return replace(call, arguments={}, malformed=f"nested over {ARGUMENTS_DEPTH_LIMIT} deep")
        if isinstance(value, Mapping):
            waiting.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend((item, depth + 1) for item in value)
    return call


def with_cost(usage: Usage, info: ModelInfo) -> Usage:
    """Return the usage with its cost: by known prices, else as reported by the provider."""
    cost_usd = info.cost_usd(usage)
    return usage if cost_usd is None else replace(usage, cost_usd=cost_usd)


def fit_request(request: ModelRequest, info: ModelInfo) -> ModelRequest:
    """Return the request without what the model does not support: tools, and images, which leave a note."""
    if request.tools and not info.tools:
        request = replace(request, tools=())
    if info.images or Image not in map(type, chain.from_iterable(map(_CONTENT, request.messages))):
        return request
    return replace(request, messages=tuple(_without_images(each, info) for each in request.messages))


def _without_images(message: Message, info: ModelInfo) -> Message:
    if not any(type(block) is Image for block in message.content):
        return message
    note = TextBlock(f"[An image was here; {info.ref} does not see images.]")
    return replace(message, content=tuple(note if type(block) is Image else block for block in message.content))
