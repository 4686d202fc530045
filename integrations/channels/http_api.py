"""Requests to a platform's HTTP API, and what their failures mean for a message."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.messaging.contract import Delivery, DeliveryState
from hub.models.retry_after import retry_after_s

REQUEST_LIMIT_S = 30.0
CONNECT_LIMIT_S = 10.0
"""Of that: a request that found no connection was surely not sent."""
PIECE_BYTES = 65_536
REDIRECTS = frozenset({301, 302, 303, 307, 308})
REDIRECTS_LIMIT = 3
RETRIED = frozenset({408, 425, 429})
"""Refusals of a request that may be sent again."""

T = TypeVar("T")


class PlatformError(HubError):
    """A request failed.

    Attributes:
        state: The resulting state of a message that it was to send.
        status: The HTTP status; 0 when there was no answer.
        reason: The platform's own code for it.
    """

    def __init__(
        self,
        state: DeliveryState,
        message: str,
        *,
        status: int = 0,
        reason: int | str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.state = state
        self.status = status
        self.reason = reason


class HttpAnswer(Struct, frozen=True):
    """An answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded body; None when it is empty, not JSON, or nested too deep."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def retry_after_s(self) -> float | None:
        """How long the platform asks to wait."""
        return retry_after_s(self.headers, "", time.time())


class HttpApi:
    """Sends requests to one platform as one account; it repeats none.

    Args:
        platform: Its name, for errors.
        root: The root of its API; a matching proxy of the environment is used.
        headers: Sent with each request to the API.

    Attributes:
        is_open: Whether requests are sent; others are refused before anything of them is.
    """

    def __init__(
        self, platform: str, root: str, headers: Mapping[str, str] | None = None, *, limit_s: float = REQUEST_LIMIT_S
    ) -> None:
        # trust_env would look for the proxy, and for passwords in ~/.netrc, at every request.
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), proxy=_proxy_for(root))
        self.platform = platform
        self.root = root.rstrip("/") + "/"
        self.is_open = True
        self._headers = headers
        self._limit_s = limit_s

    async def close(self) -> None:
        """Close the connections."""
        self.is_open = False
        await self.session.close()

    async def request(self, method: str, path: str, *, limit_s: float | None = None, **request: Any) -> HttpAnswer:
        """Return the answer to a request, also a refusal.

        Args:
            path: Below the root; an absolute address is requested without the account's headers.
            limit_s: The time limit of the answer, when it is not the usual one.
            request: In aiohttp's form.

        Raises:
            PlatformError: The platform cannot be reached, or its answer was lost.
        """
        if not self.is_open:
            raise self.error(DeliveryState.TRANSIENT, "the account is logged out")
        if "://" not in path:
            request.setdefault("headers", self._headers)
        url = urljoin(self.root, path.lstrip("/")) if "://" not in path else path
        timeout = aiohttp.ClientTimeout(total=limit_s or self._limit_s, connect=CONNECT_LIMIT_S)
        try:
            async with self.session.request(method, url, allow_redirects=False, timeout=timeout, **request) as response:
                return HttpAnswer(response.status, response.headers, await response.read())
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            cause = getattr(error, "os_error", None) or type(error).__name__
            raise self.error(DeliveryState.TRANSIENT, f"cannot be reached: {cause}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:  # their text may show the address, and a token
            raise self.error(DeliveryState.UNKNOWN, f"did not answer: {type(error).__name__}") from error

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield the file that a message refers to.

        Raises:
            PlatformError: It is not available.
        """
        return self.download(reference, ())

    async def download(
        self, url: str, hosts: tuple[str, ...], *, cdn: tuple[str, ...] = (), refused_type: str | None = None
    ) -> AsyncIterator[bytes]:
        """Yield a file in pieces.

        Args:
            url: Its address, or one where a server of the platform gives it.
            hosts: Names of the platform's servers beside that of the API, which are sent the account's headers; those
                with a dot before them are endings.
            cdn: Names of servers with files for everybody who knows their addresses, which are sent none.
            refused_type: A content type that is not the file, such as that of a page to sign in.

        Raises:
            PlatformError: It is on other servers, or cannot be had.
        """
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_LIMIT_S, sock_read=self._limit_s)
        for _ in range(1 + REDIRECTS_LIMIT):
            try:
                parts = urlsplit(url)
                host, secure = parts.hostname or "", parts.scheme == "https"
                signed = parts[:2] == urlsplit(self.root)[:2] or (secure and _is_among(host, hosts))
                if not signed and not (secure and _is_among(host, cdn)):
                    raise self.error(DeliveryState.PERMANENT, f"a file is not on its servers but on {host}")
                headers = self._headers if signed else None
                async with self.session.get(url, headers=headers, allow_redirects=False, timeout=timeout) as response:
                    if response.status in REDIRECTS and "Location" in response.headers:
                        url = urljoin(url, response.headers["Location"])
                        continue
                    if response.status != 200 or response.content_type == refused_type:
                        text = f"a file cannot be downloaded (HTTP {response.status}, {response.content_type})"
                        raise self.error(DeliveryState.PERMANENT, text)
                    async for piece in response.content.iter_chunked(PIECE_BYTES):
                        yield piece
                    return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self.error(DeliveryState.TRANSIENT, f"a download broke off: {type(error).__name__}") from error
            except ValueError as error:
                raise self.error(DeliveryState.PERMANENT, "the address of a file is none") from error
        raise self.error(DeliveryState.PERMANENT, "a file is redirected too often")

    def error(self, state: DeliveryState, message: str, **more: Any) -> PlatformError:
        """Return an error that names the platform."""
        return PlatformError(state, f"{self.platform}: {message}", **more)


def _is_among(host: str, names: tuple[str, ...]) -> bool:
    return host in names or host.endswith(tuple(each for each in names if each.startswith(".")))


def _proxy_for(root: str) -> str | None:
    url = urlsplit(root)
    return None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)


async def delivery_of(request: Awaitable[Any], *, done_already: int | str | None = None) -> Delivery:
    """Return the delivery of what a request sends.

    Args:
        request: Returns the platform's id of it as text; anything else is none.
        done_already: The platform's code for what had been done before.
    """
    try:
        id = await request
    except PlatformError as error:
        if error.reason is not None and error.reason == done_already:
            return Delivery(DeliveryState.DELIVERED)
        return Delivery(error.state, error=error.message, retry_after_s=error.retry_after_s)
    except HubError as error:
        return Delivery(DeliveryState.TRANSIENT, error=error.message, retry_after_s=error.retry_after_s)
    except OSError as error:
        return Delivery(DeliveryState.PERMANENT, error=f"a file cannot be read: {error}")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return Delivery(DeliveryState.UNKNOWN, error=f"the platform answered something else: {error!r}")
    return Delivery(DeliveryState.DELIVERED, (id,) if id and isinstance(id, str) else ())


def refusal_state(status: int, *, own: bool) -> DeliveryState:
    """Return the delivery state for an unsuccessful answer.

    Args:
        status: The status of the answer, or the one that its body states.
        own: Whether the body is the platform's own error, and not one that the platform also gives for what it sent:
            whatever the status, nothing was sent then. Another one is the page of a proxy, which cannot know what the
            platform did behind it.
    """
    if status in RETRIED:
        return DeliveryState.TRANSIENT
    if 400 <= status < 500:
        return DeliveryState.PERMANENT
    return DeliveryState.TRANSIENT if own else DeliveryState.UNKNOWN


@contextmanager
def surely_not_sent() -> Iterator[None]:
    """For requests before a message: whether one was done or not, the message itself was not sent.

    Raises:
        PlatformError: It failed.
    """
    try:
        yield
    except PlatformError as error:
        if error.state is DeliveryState.UNKNOWN:
            error.state = DeliveryState.TRANSIENT
        raise


async def patiently(clock: Clock, call: Callable[..., Awaitable[T]], *given: Any, **more: Any) -> T:
    """Return the answer to one of the channel's own requests, waiting for as long as the platform asks.

    Raises:
        PlatformError: It failed otherwise.
    """
    while True:
        try:
            return await call(*given, **more)
        except PlatformError as error:
            if error.retry_after_s is None:
                raise
            await clock.sleep(error.retry_after_s)
