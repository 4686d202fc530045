"""The requests of python-telegram-bot through aiohttp, which takes a third of the time that its own transport does."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

FORM = "application/x-www-form-urlencoded"


class AiohttpRequest(BaseRequest):
    """A pool of connections to the Bot API; made inside a running event loop.

    Args:
        root: Where the Bot API is; a proxy of the environment that is for it is used.
        connections: How many there are at most.
        read_s: What an answer may take, in seconds.
        connect_s: What a connection may take.
        pool_s: How long a request waits for one to be free.
    """

    def __init__(self, root: str, connections: int, read_s: float, *, connect_s: float, pool_s: float) -> None:
        self._read_s = read_s
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_s + pool_s, sock_connect=connect_s)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self.USER_AGENT},
            proxy=_proxy_for(root),
            trust_env=False,  # it would look for a proxy, and for passwords in ~/.netrc, at every request
        )

    @property
    def read_timeout(self) -> float | None:
        """What an answer may take, in seconds."""
        return self._read_s

    async def initialize(self) -> None:
        """Do nothing: the session is open from the beginning."""

    async def shutdown(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Make a request; see `BaseRequest`. Of the limits only that of the answer can be another one.

        Raises:
            NetworkError: There was no answer; the cause says whether there was a connection.
            TimedOut: It took too long.
        """
        read_s = self._read_s if read_timeout is BaseRequest.DEFAULT_NONE else read_timeout
        timeout = aiohttp.ClientTimeout(None, self._timeout.connect, read_s, self._timeout.sock_connect)
        body, headers = _body(request_data)
        try:
            async with self._session.request(
                method, url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return response.status, await response.read()
        except TimeoutError as error:
            raise TimedOut from error
        except aiohttp.ClientConnectorError as error:
            raise NetworkError(str(error)) from error
        except aiohttp.ClientError as error:  # its text may show the address, and with it the token
            raise NetworkError(f"the connection failed: {type(error).__name__}") from error


def _proxy_for(root: str) -> str | None:
    url = urlsplit(root)
    return None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)


def _body(request_data: RequestData | None) -> tuple[bytes | aiohttp.FormData | None, dict[str, str]]:
    if request_data is None:
        return None, {}
    if not request_data.contains_files:
        return urlencode(request_data.json_parameters).encode(), {"Content-Type": FORM}
    form = aiohttp.FormData(request_data.json_parameters)
    for name, (filename, content, mime_type) in request_data.multipart_data.items():
        form.add_field(name, content, filename=filename, content_type=mime_type)
    return form, {}
