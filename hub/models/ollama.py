"""Probes for a local Ollama in the background, again from time to time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from urllib.parse import urlsplit

import orjson
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.light_packages import load_package

PROBE_TIMEOUT_S = 0.3
PROBE_AGAIN_S = 60.0
ANSWER_LIMIT_BYTES = 1024 * 1024
MODELS_LIMIT = 200

_log = logging.getLogger(__name__)


class OllamaState(Struct, frozen=True):
    """The result of the last probe: whether it answers, and its models, newest first."""

    running: bool = False
    models: tuple[str, ...] = ()


class OllamaProbe:
    """Probes repeatedly.

    Args:
        base_url: Ends in `/v1`.
        clock: Waits between probes.
        changed: Called when the answer differs from the one before.
    """

    def __init__(self, base_url: str, clock: Clock, changed: Callable[[], None]) -> None:
        self._url = f"{base_url.removesuffix('/v1')}/api/tags"
        self._clock = clock
        self._changed = changed
        self._first = asyncio.Event()
        self.state = OllamaState()

    async def run(self) -> None:
        """Probe until cancelled."""
        while True:
            await self.probe()
            await self._clock.sleep(PROBE_AGAIN_S)

    async def probe(self) -> OllamaState:
        """Ask once, within 0.3 s."""
        found = await probe_ollama(self._url)
        differs, self.state = found != self.state, found
        self._first.set()
        if differs:
            self._changed()
        return found

    async def first_answer(self) -> OllamaState:
        """Return the state, waiting only for the very first probe."""
        if not self._first.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2 * PROBE_TIMEOUT_S):
                    await self._first.wait()
        return self.state


async def probe_ollama(tags_url: str) -> OllamaState:
    """Ask an Ollama for its models; any other answer means that there is none."""
    if not await _listens(tags_url):
        return OllamaState()
    await load_package("aiohttp")
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(tags_url, allow_redirects=False) as response,
        ):
            if response.status != 200:
                return OllamaState()
            raw = await response.content.read(ANSWER_LIMIT_BYTES)
            while len(raw) < ANSWER_LIMIT_BYTES and (more := await response.content.read(ANSWER_LIMIT_BYTES)):
                raw += more
        data = orjson.loads(raw)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        _log.debug("no Ollama at %s: %r", tags_url, error)
        return OllamaState()
    entries = data.get("models") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return OllamaState()
    names = [entry.get("name") for entry in entries[:MODELS_LIMIT] if isinstance(entry, dict)]
    return OllamaState(True, tuple(name for name in names if isinstance(name, str) and name and "embed" not in name))


async def _listens(url: str) -> bool:
    """Whether anything accepts connections there; without an Ollama, no HTTP client need be loaded."""
    try:
        place = urlsplit(url)
        port = place.port or (443 if place.scheme == "https" else 80)
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(place.hostname or "", port)
    except (TimeoutError, OSError, ValueError):
        return False
    writer.close()
    return True
