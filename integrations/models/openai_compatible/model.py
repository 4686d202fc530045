"""The provider: one request, one connection, events as they come."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import orjson
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from hub import __version__
from hub.core.clock import Clock
from hub.core.errors import LimitExceeded
from hub.core.secret import Secret
from hub.models.chat_request import ChatHistory, known_call_ids, plain
from hub.models.classify import clean_message, make_error
from hub.models.contract import (
    FormatError,
    ModelError,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ModelTimeout,
    Overloaded,
)
from hub.models.provider_config import ProviderConfig
from hub.models.retry_after import retry_after_s
from hub.models.speech import AUDIO_LIMIT_BYTES, SpeechRequest, audio_kind
from integrations.models.openai_compatible.answer import StreamReader
from integrations.models.openai_compatible.faults import read_fault_text
from integrations.models.openai_compatible.listing import read_models
from integrations.models.openai_compatible.quirks import Quirks, adapt, chat_body

CONNECT_TIMEOUT_S = 10.0
LIST_TIMEOUT_S = 10.0
TRANSCRIBE_TIMEOUT_S = 90.0
SPEAK_TIMEOUT_S = 90.0
KEEPALIVE_S = 60.0
CONNECTIONS_LIMIT = 256
ERROR_LIMIT_BYTES = 64 * 1024
LIST_LIMIT_BYTES = 8 * 1024 * 1024
ADAPTATIONS_LIMIT = 6
QUIRKS_LIMIT = 1_000
END_S = 0.05
"""How long the end of a body may come after the last event of it."""
OPENAI_HOST = "api.openai.com"

_log = logging.getLogger(__name__)
_BROKEN = (aiohttp.ClientError, OSError)


class _Asked(Struct, frozen=True):
    """A single request: where, for what, and its limits."""

    method: str
    path: str
    what: str
    timeout_s: float
    limit_bytes: int
    model: str


class OpenAIProvider:
    """Speaks Chat Completions to one server.

    Args:
        name: The part before the slash in its models' names.
        config: Its address, key and headers.
        clock: For moments in `retry-after`.
    """

    def __init__(self, name: str, config: ProviderConfig, clock: Clock) -> None:
        self.name = name
        self._config = config
        self._clock = clock
        self._proxy = config.proxy
        self._url = _endpoint(config.base_url or "", "chat/completions")
        self._headers = _headers(config)
        self._secrets: tuple[Secret, ...] = tuple(
            secret for secret in (config.api_key, *config.headers.values()) if secret
        )
        at_openai = self._url.host == OPENAI_HOST
        self._first_quirks = Quirks(
            limit_field="max_completion_tokens" if at_openai else "max_tokens", cache_key=at_openai
        )
        self._quirks: dict[str, Quirks] = {}
        self._history = ChatHistory()
        self._session: aiohttp.ClientSession | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """See `ModelProvider.stream`. Closing or cancelling it closes the connection, which ends the work there."""
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        response = await self._accepted(request, deadline)
        reader = StreamReader(
            response.content,
            json=not response.content_type.endswith("event-stream"),
            timeout_s=request.timeout_s,
            deadline=deadline,
            who=f"{self.name}/{request.model}",
            known_ids=partial(known_call_ids, request.messages),
            fault=lambda status, code, message: self._error(request, status, message, code, response.headers),
        )
        whole = False
        try:
            try:
                async for event in reader.events():
                    yield event
                whole = True
            except TimeoutError as error:
                raise ModelTimeout(
                    f"{self.name}/{request.model} sent nothing for {request.timeout_s:g} s.",
                    details={"provider": self.name, "model": request.model},
                ) from error
            except _BROKEN as error:
                raise self._broken(request, "broke off in the middle of its answer", error) from error
        finally:
            reader.close()
            if whole and not response.content.is_eof():
                # The end of the body comes right behind: aiohttp then keeps the connection for the next call.
                asyncio.get_running_loop().call_later(END_S, _let_go, response)
            else:
                _let_go(response)

    async def models(self) -> list[ModelInfo]:
        """See `ModelProvider.models`."""
        found = await self._ask("GET", "models", "list its models", LIST_TIMEOUT_S)
        try:
            return read_models(self.name, found)
        except ValueError as error:
            raise FormatError(f"{self.name} lists its models in an unknown form.") from error

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        """See `CanTranscribe.transcribe`."""
        form = aiohttp.FormData({"model": model, "response_format": "json"})
        if language:
            form.add_field("language", re.split(r"[-_]", language)[0])  # ISO 639-1, without a country
        form.add_field("file", data, filename=name, content_type="application/octet-stream")
        found = await self._ask("POST", "audio/transcriptions", "transcribe", TRANSCRIBE_TIMEOUT_S, form, model)
        if not isinstance(found, dict) or not isinstance(found.get("text"), str):
            raise FormatError(f"{self.name} returned an unknown form of transcript: expected an object with text.")
        return str(found["text"])

    async def speak(self, request: SpeechRequest) -> bytes:
        """See `CanSpeak.speak`."""
        body = {"model": request.model, "input": request.text, "voice": request.voice, "response_format": request.form}
        asked = _Asked("POST", "audio/speech", "speak", SPEAK_TIMEOUT_S, AUDIO_LIMIT_BYTES + 1, request.model)
        data, kind = await self._fetch(asked, orjson.dumps(body))
        if len(data) > AUDIO_LIMIT_BYTES:
            raise LimitExceeded(f"{self.name} sent a recording of more than {AUDIO_LIMIT_BYTES // 1024**2} MB.")
        if audio_kind(data) is None:
            raise FormatError(f"{self.name} sends {kind:.60} in place of a recording (OGG, MP3, WAV or FLAC).")
        return data

    async def _ask(
        self, method: str, path: str, what: str, timeout_s: float, data: aiohttp.FormData | None = None, model: str = ""
    ) -> Any:
        """Return the parsed answer to a single request."""
        raw, _ = await self._fetch(_Asked(method, path, what, timeout_s, LIST_LIMIT_BYTES, model), data)
        try:
            return orjson.loads(raw)
        except ValueError as error:
            raise FormatError(f"{self.name} did not answer in JSON when asked to {what}.") from error

    async def _fetch(self, ask: _Asked, data: aiohttp.FormData | bytes | None) -> tuple[bytes, str]:
        """Return the answer to a single request, and its content type."""
        asked = ModelRequest(model=ask.model, system="", messages=())
        headers = self._headers.copy()
        if isinstance(data, aiohttp.FormData):
            del headers["Content-Type"]
        elif data is not None:
            headers["Accept"] = "*/*"
        url = _endpoint(self._config.base_url or "", ask.path)
        try:
            async with (
                asyncio.timeout(ask.timeout_s),
                self._opened().request(
                    ask.method, url, headers=headers, data=data, allow_redirects=False, proxy=self._proxy
                ) as response,
            ):
                raw = await _read(response, ask.limit_bytes)
                if response.status != 200:
                    _, code, message = read_fault_text(raw[:ERROR_LIMIT_BYTES])
                    raise self._error(asked, response.status, message, code, response.headers)
                return raw, response.content_type
        except TimeoutError as error:
            raise ModelTimeout(f"{self.name} did not {ask.what} within {ask.timeout_s:g} s.") from error
        except _BROKEN as error:
            raise self._broken(asked, "cannot be reached", error) from error

    async def close(self) -> None:
        """Close connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _accepted(self, request: ModelRequest, deadline: float) -> aiohttp.ClientResponse:
        """Send the request, without what this server refuses, until it begins an answer."""
        quirks = self._quirks.get(request.model, self._first_quirks)
        for _ in range(ADAPTATIONS_LIMIT):
            body = chat_body(request, quirks, self._history)
            response = await self._post(request, body, deadline)
            if response.status == 200:
                return response
            error, message = await self._refusal(request, response)
            other = adapt(quirks, body, response.status, message)
            if other is None:
                raise error
            _log.info("%s/%s refused a part of the request; asking without it (%s)", self.name, request.model, error)
            quirks = self._learn(request.model, other)
        raise error

    def _learn(self, model: str, quirks: Quirks) -> Quirks:
        if len(self._quirks) >= QUIRKS_LIMIT:
            self._quirks.clear()
        self._quirks[model] = quirks
        return quirks

    async def _post(self, request: ModelRequest, body: dict[str, Any], deadline: float) -> aiohttp.ClientResponse:
        data = self._encoded(request, body)
        again = self._session is not None
        while True:
            if request.on_sent is not None:
                request.on_sent(len(data))
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._opened().post(
                        self._url, data=data, headers=self._headers, allow_redirects=False, proxy=self._proxy
                    )
            except aiohttp.ConnectionTimeoutError as error:
                raise self._broken(
                    request, f"could not be reached at {self._where} within {CONNECT_TIMEOUT_S:g} s", error
                ) from error
            except TimeoutError as error:
                raise ModelTimeout(
                    f"{self.name}/{request.model} did not begin to answer within {request.timeout_s:g} s.",
                    details={"provider": self.name, "model": request.model},
                ) from error
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientConnectionResetError, ConnectionError) as error:
                # A connection kept from an earlier call may have been closed meanwhile: that is no failure of theirs.
                if not again or isinstance(error, aiohttp.ClientConnectorError):
                    raise self._broken(request, f"cannot be reached at {self._where}", error) from error
                again = False
            except _BROKEN as error:
                raise self._broken(request, f"cannot be reached at {self._where}", error) from error

    def _encoded(self, request: ModelRequest, body: dict[str, Any]) -> bytes:
        try:
            return orjson.dumps(body, default=plain)
        except TypeError as error:
            raise FormatError(f"The request for {self.name}/{request.model} is not JSON: {error}") from error

    async def _refusal(self, request: ModelRequest, response: aiohttp.ClientResponse) -> tuple[ModelError, str]:
        try:
            async with asyncio.timeout(request.timeout_s):
                raw = await _read(response, ERROR_LIMIT_BYTES)
        except (TimeoutError, *_BROKEN):
            raw = b""
        finally:
            _let_go(response)
        _, code, message = read_fault_text(raw)
        if 300 <= response.status < 400:
            place = clean_message(response.headers.get("Location", "somewhere else"), self._secrets)
            message = f"it redirects to {place}; put the right address into base_url"
        return self._error(request, response.status, message, code, response.headers), message

    def _error(
        self, request: ModelRequest, status: int | None, message: str, code: str, headers: Mapping[str, str]
    ) -> ModelError:
        return make_error(
            provider=self.name,
            model=request.model,
            status=status,
            message=message,
            code=code,
            retry_after_s=retry_after_s(headers, message, self._clock.time()),
            secrets=self._secrets,
        )

    def _broken(self, request: ModelRequest, what: str, error: Exception) -> Overloaded:
        said = clean_message(str(error) or type(error).__name__, self._secrets)
        return Overloaded(f"{self.name} {what}: {said}", details={"provider": self.name, "model": request.model})

    @property
    def _where(self) -> str:
        return f"{self._url.scheme}://{self._url.authority}"

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=CONNECTIONS_LIMIT, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=300
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session


def _endpoint(base_url: str, path: str) -> URL:
    """Return the address of an endpoint; a query in the base (`?api-version=…`) is kept."""
    parts = urlsplit(base_url)
    return URL(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}")))


def _headers(config: ProviderConfig) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"homarus/{__version__}",
        }
    )
    if config.api_key:
        headers["Authorization"] = f"Bearer {config.api_key.reveal()}"
    for name, value in config.headers.items():
        headers[name] = value.reveal()
    return headers


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body up to a bound; what is longer is cut."""
    raw = bytearray()
    while len(raw) < limit and (chunk := await response.content.readany()):
        raw += chunk
    return bytes(raw[:limit])


def _let_go(response: aiohttp.ClientResponse) -> None:
    """Keep the connection for the next call when the body was read to its end, else close it."""
    if response.content.is_eof():
        response.release()
    else:
        response.close()
