"""The one HTTP client of embeddings: the key goes to the address of the configuration alone, answers are bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from hub import __version__
from hub.core.light_packages import load_package
from hub.core.secret import Secret
from hub.models.classify import clean_message
from hub.models.retry_after import retry_after_s
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.faults import fault_of, sentence, words_of
from integrations.memory.notes.index.embeddings.provider import Fault, ProviderFailed

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 60.0
ERROR_LIMIT_BYTES = 64 * 1024
ANSWER_LIMIT_BYTES = 64 * 1024 * 1024


class Client:
    """Calls one provider.

    Args:
        name: The name as people know it.
        model: Named in errors.
        where: Its address.
        headers: Sent with each call; the key is one of them.
        secrets: Secrets that must never be repeated in an error.
        timeout_s: The time until a call is given up.
        clock: Seconds since the epoch, for moments in `Retry-After`.
    """

    def __init__(
        self,
        name: str,
        model: str,
        where: Endpoint,
        headers: Mapping[str, str],
        secrets: tuple[Secret, ...],
        *,
        timeout_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.model = model
        self.where = where
        self.timeout_s = timeout_s
        self._headers = {"User-Agent": f"homarus/{__version__}", "Accept": "application/json", **headers}
        self._secrets = (*secrets, *where.secrets)
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: Mapping[str, Any]) -> Any:
        """Send JSON and return the JSON of the answer; see `call`."""
        try:
            data = orjson.dumps(body)
        except (TypeError, ValueError) as error:  # a lone surrogate is not text
            raise ProviderFailed(Fault.REFUSED, f"{self.name} cannot be sent this text: {error}") from error
        return await self.call("POST", url, data=data, headers={"Content-Type": "application/json"})

    async def call(
        self,
        method: str,
        url: str,
        *,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the JSON of the answer.

        Args:
            method, url, data, headers: Properties of the request.

        Raises:
            ProviderFailed: With a text for people; `Fault.NONSENSE` when the answer is not JSON or too long.
        """
        raw = await self._whole(method, url, data, {**self._headers, **(headers or {})})
        try:
            return orjson.loads(raw)
        except ValueError as error:
            # Python's reader takes NaN, which some servers send and JSON does not have.
            return self._lenient(raw, error)

    def failure(self, fault: Fault, what: str, *, retry_after_s: float | None = None, said: str = "") -> ProviderFailed:
        """Return an error that names the provider."""
        return ProviderFailed(fault, f"{self.name} {what}", retry_after_s=retry_after_s, said=said)

    def clean_message(self, text: str) -> str:
        """Return a provider's message, without keys and shortened."""
        return clean_message(text, self._secrets)

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _whole(self, method: str, url: str, data: Any, headers: Mapping[str, str]) -> bytes:
        await load_package("aiohttp")
        import aiohttp

        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._answered(method, url, data, headers)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._away(error) from error

    async def _answered(self, method: str, url: str, data: Any, headers: Mapping[str, str]) -> bytes:
        async with self._opened().request(method, url, data=data, headers=headers, allow_redirects=False) as response:
            if response.status not in {200, 201}:
                raise self._refusal(response, await _read(response, ERROR_LIMIT_BYTES))
            raw = await _read(response, ANSWER_LIMIT_BYTES + 1)
        if len(raw) > ANSWER_LIMIT_BYTES:
            raise self.failure(Fault.NONSENSE, f"answered with more than {ANSWER_LIMIT_BYTES // 2**20} MiB")
        return raw

    def _lenient(self, raw: bytes, error: ValueError) -> Any:
        import json

        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise self.failure(
                Fault.NONSENSE, f"at {self.where.shown} answered with something that is not JSON; is the address right?"
            ) from error

    def _refusal(self, response: aiohttp.ClientResponse, raw: bytes) -> ProviderFailed:
        status = response.status
        code, words = words_of(raw)
        said = self.clean_message(words)
        if 300 <= status < 400:
            return self.failure(
                Fault.MODEL, f"at {self.where.shown} redirects, which is not followed; set memory.embeddings.base_url"
            )
        wait = retry_after_s(response.headers, words, self._clock())
        fault = fault_of(status, f"{code} {words}")
        return self.failure(
            fault,
            sentence(fault, self.model, self.where.shown, status, said),
            retry_after_s=wait,
            said=said or str(status),
        )

    def _away(self, error: BaseException) -> ProviderFailed:
        import aiohttp

        if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            return self.failure(
                Fault.SLOW,
                f"at {self.where.shown} did not answer within {self.timeout_s:g} s (memory.embeddings.timeout)",
            )
        said = self.clean_message(str(error) or type(error).__name__)
        if not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return self.failure(Fault.AWAY, f"at {self.where.shown} broke off its answer ({said})")
        return self.failure(
            Fault.AWAY, f"cannot be reached at {self.where.shown}; is it running, and the network there? ({said})"
        )

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=64, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    raw = bytearray()
    while len(raw) < limit and (piece := await response.content.readany()):
        raw += piece
    return bytes(raw[:limit])
