"""The provider: what litellm streams, as our events and our errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.models.chat_answer import ChatAnswer
from hub.models.chat_request import known_call_ids
from hub.models.contract import ModelEvent, ModelInfo, ModelRequest, ModelTimeout, Overloaded
from hub.models.model_list import listed_model
from hub.models.provider_config import ProviderConfig
from integrations.models.litellm.call import call_arguments, vendor_of
from integrations.models.litellm.faults import model_error
from integrations.models.litellm.library import LitellmLibrary

MODELS_LIMIT = 500


class LitellmProvider:
    """Speaks to one vendor through litellm.

    Args:
        name: The part before the slash in its models' names.
        config: Key, address and further parameters.
        library: litellm, loaded or not.
        clock: For moments in `retry-after`.

    Raises:
        InvalidRequest: The configuration asks for something litellm cannot do.
    """

    def __init__(self, name: str, config: ProviderConfig, library: LitellmLibrary, clock: Clock) -> None:
        if config.proxy is not None:
            raise InvalidRequest(
                f"models.providers.{name}.proxy: a proxy can be set only for OpenAI-compatible servers (api: openai)."
            )
        self.name = name
        self._config = config
        self._library = library
        self._clock = clock
        self._secrets = tuple(secret for secret in (config.api_key, *config.headers.values()) if secret)
        self._open = True
        library.acquire()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """See `ModelProvider.stream`. The first call waits until the library is loaded, others do not notice it."""
        await self._library.load()
        batches = self._library.stream(lambda litellm: self._batches(litellm, request))
        try:
            while True:
                try:
                    async with asyncio.timeout(request.timeout_s):
                        batch = await anext(batches, None)
                except TimeoutError as error:
                    raise ModelTimeout(
                        f"{self.name}/{request.model} sent nothing for {request.timeout_s:g} s.",
                        details={"provider": self.name, "model": request.model},
                    ) from error
                if batch is None:
                    return
                for event in batch:
                    yield event
        finally:
            if isinstance(batches, AsyncGenerator):
                await batches.aclose()

    async def models(self) -> list[ModelInfo]:
        """Return the vendor's chat models that litellm knows.

        Raises:
            Unavailable: It is not loaded, and is not loaded for a list.
        """
        litellm = self._library.module
        if litellm is None:
            raise Unavailable("litellm is loaded when one of its models is called first.", retry_after_s=60)
        vendor = vendor_of(self._config)
        names = sorted(litellm.models_by_provider.get(vendor, ()))[:MODELS_LIMIT]
        infos = (self.known(name.removeprefix(f"{vendor}/")) for name in names)
        return [info for info in infos if info is not None]

    def known(self, model_id: str) -> ModelInfo | None:
        """Return litellm's properties of a model; None if unknown, or not loaded."""
        litellm = self._library.module
        if litellm is None:
            return None
        vendor = vendor_of(self._config)
        facts = litellm.model_cost.get(f"{vendor}/{model_id}") or litellm.model_cost.get(model_id)
        return listed_model(self.name, model_id, facts)

    async def warm_up(self) -> None:
        """Load the library ahead of the first request."""
        await self._library.load()

    async def close(self) -> None:
        """Release the library."""
        if self._open:
            self._open = False
            await self._library.release()

    async def _batches(self, litellm: Any, request: ModelRequest) -> AsyncIterator[list[ModelEvent]]:
        """Run one call; in the library's thread."""
        answer = ChatAnswer(partial(known_call_ids, request.messages))
        stream: Any = None
        try:
            stream = await litellm.acompletion(**call_arguments(self._config, request))
            async for chunk in stream:
                # An empty batch says that something came, though nothing to show yet.
                yield answer.chunk(chunk.model_dump(exclude_none=True))
            if _cut_off(stream):
                raise Overloaded(f"{self.name}/{request.model} stopped in the middle of its answer.")
            yield answer.end()
        except HubError:
            raise
        except Exception as error:  # litellm raises what vendors' libraries raise; all of it becomes one of our types
            raise model_error(
                error, provider=self.name, model=request.model, now=self._clock.time(), secrets=self._secrets
            ) from error
        finally:
            await _close(stream)


async def _close(stream: Any) -> None:
    """End the call at the vendor, too; litellm forgets the lines that some vendors' answers are read from."""
    lines = getattr(getattr(stream, "completion_stream", None), "streaming_response", None)
    for each in (stream, lines):
        if each is not None and hasattr(each, "aclose"):
            await each.aclose()


def _cut_off(stream: Any) -> bool:
    """Whether the vendor sent no finish reason, in which case litellm invents one."""
    reasons = [getattr(stream, name, "?") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return all(reason is None for reason in reasons)
