"""Pending sign-ins: each with its page, its callback listener, and a lifetime of ten minutes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.tasks import TaskOwner
from hub.models.contract import AuthError
from hub.models.oauth import OAuthTokens, PendingSignIn, begin_sign_in, code_of, exchange_code
from hub.models.oauth_endpoints import OAuthEndpoint

SIGN_IN_LIMIT_S = 600.0
SIGN_INS_LIMIT = 8
ENDED_KEPT = 8
"""Sign-ins that have ended, for those who ask about them later."""
ANSWER_LIMIT_S = 2.0
"""For a browser that waits for its answer while the listener is closed."""
LOOPBACK = {"localhost", "127.0.0.1"}
_PAGE = "<!doctype html><meta charset=utf-8><title>Homarus</title><p>{text}"
_HEADERS = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store"}

_log = logging.getLogger(__name__)

Done = Callable[[OAuthTokens], Awaitable[None]]


class _SignIn(Struct):
    """A pending sign-in."""

    endpoint: OAuthEndpoint
    pending: PendingSignIn
    done: Done
    ended: asyncio.Future[None]
    runner: web.AppRunner | None = None
    busy: bool = False


class SignIns:
    """Begins and completes sign-ins.

    Args:
        clock: The clock of the hub.
        tasks: Owns the end of each.
    """

    def __init__(self, clock: Clock, tasks: TaskOwner) -> None:
        self._clock = clock
        self._tasks = tasks
        self._waiting: dict[str, _SignIn] = {}

    async def begin(self, endpoint: OAuthEndpoint, done: Done) -> tuple[PendingSignIn, bool]:
        """Begin a sign-in; return its page and whether the hub listens for the callback.

        Args:
            endpoint: The sign-in endpoint.
            done: Keeps the tokens.

        Raises:
            InvalidRequest: Too many wait already.
        """
        ended = [state for state, each in self._waiting.items() if each.ended.done()]
        for state in ended[:-ENDED_KEPT]:
            del self._waiting[state]
        if len(self._waiting) - len(ended) >= SIGN_INS_LIMIT:
            raise InvalidRequest(f"{SIGN_INS_LIMIT} sign-ins wait already; complete one, or wait ten minutes.")
        sign_in = _SignIn(endpoint, begin_sign_in(endpoint), done, asyncio.get_running_loop().create_future())
        # Whoever waits hears of a failure; nobody has to.
        sign_in.ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        sign_in.runner = await self._listen(sign_in)
        self._waiting[sign_in.pending.state] = sign_in
        self._tasks.spawn(self._expire(sign_in), name="end a sign-in that nobody completes")
        return sign_in.pending, sign_in.runner is not None

    async def complete(self, state: str, pasted: str) -> None:
        """Complete a sign-in with what the person pasted.

        Raises:
            NotFound: It is over.
            HubError: It was refused, or the tokens cannot be kept.
        """
        sign_in = self._get(state)
        if sign_in.ended.done():
            raise NotFound("This sign-in is over; begin again.")
        await self._complete(sign_in, code_of(pasted, state))

    async def wait(self, state: str, timeout_s: float) -> bool:
        """Return whether a sign-in was completed, after at most `timeout_s` seconds.

        Raises:
            NotFound: It is over.
            HubError: It failed.
        """
        sign_in = self._get(state)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(sign_in.ended)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Cancel all sign-ins, and listen no more when this returns."""
        listening = []
        for sign_in in list(self._waiting.values()):
            listening.append(sign_in.runner)
            sign_in.runner = None
            await self._end(sign_in, NotFound("The hub stops."))
        await asyncio.gather(*(each.cleanup() for each in listening if each is not None))

    def _get(self, state: str) -> _SignIn:
        found = self._waiting.get(state)
        if found is None:
            raise NotFound("This sign-in is over; begin again.")
        return found

    async def _complete(self, sign_in: _SignIn, code: str) -> None:
        if sign_in.busy or sign_in.ended.done():
            raise InvalidRequest("This sign-in is being completed already.")
        sign_in.busy = True
        try:
            tokens = await exchange_code(sign_in.endpoint, sign_in.pending, code, self._clock.time())
            await sign_in.done(tokens)
        except HubError as error:
            sign_in.busy = False
            if isinstance(error, AuthError):  # a code is good for one try
                await self._end(sign_in, error)
            raise
        await self._end(sign_in)

    async def _end(self, sign_in: _SignIn, error: HubError | None = None) -> None:
        if not sign_in.ended.done():
            if error is None:
                sign_in.ended.set_result(None)
            else:
                sign_in.ended.set_exception(error)
        runner, sign_in.runner = sign_in.runner, None
        if runner is not None:
            # Not from within a request of its own, which its end would wait for.
            self._tasks.spawn(runner.cleanup(), name="close the listener of a sign-in")

    async def _expire(self, sign_in: _SignIn) -> None:
        await self._clock.sleep(SIGN_IN_LIMIT_S)
        await self._end(sign_in, NotFound("Nobody completed the sign-in within ten minutes; begin again."))

    async def _listen(self, sign_in: _SignIn) -> web.AppRunner | None:
        """Listen for the callback, if it leads to this machine and its port is free."""
        place = urlsplit(sign_in.endpoint.redirect_url)
        if place.scheme != "http" or place.hostname not in LOOPBACK:
            return None
        app = web.Application(client_max_size=0)

        async def back(request: web.Request) -> web.Response:
            if (request.url.host or "") not in LOOPBACK:
                return web.Response(status=403)
            try:
                await self._complete(
                    sign_in, code_of(f"{place.scheme}://x/?{request.query_string}", sign_in.pending.state)
                )
            except HubError as error:
                _log.warning("a sign-in was not completed: %s", error.message)
                return _page("The sign-in did not work. Look at the terminal, and begin again.", 400)
            return _page("You are signed in. You can close this window.")

        app.router.add_get(place.path or "/", back)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=ANSWER_LIMIT_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", place.port or 80).start()
        except OSError as error:
            _log.info("the sign-in is completed by hand, since its port %s is taken: %s", place.port, error)
            await runner.cleanup()
            return None
        return runner


def _page(text: str, status: int = 200) -> web.Response:
    return web.Response(text=_PAGE.format(text=text), content_type="text/html", status=status, headers=_HEADERS)
