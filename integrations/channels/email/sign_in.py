"""A mailbox to which its owner signs in with a browser: by a code for any device, or on a page that leads back here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from hub.core.errors import HubError, InvalidRequest
from hub.core.tasks import TaskOwner
from hub.messaging.capabilities import LinkStep
from hub.messaging.contract import Receiver
from hub.models.oauth import OAuthTokens, begin_device_sign_in, device_tokens
from hub.models.sign_in import SIGN_IN_LIMIT_S, SignIns
from integrations.channels.email.channel import Email
from integrations.channels.email.login import MailOAuth
from integrations.channels.reconnecting import AccountRefused, keep_connected

STOP_LIMIT_S = 5.0


class SignInEmail(Email):
    """A mailbox whose configuration has no refresh token; see `CanSignIn`.

    Args:
        oauth: Its sign-in.
        arguments: Those of `Email`.
    """

    def __init__(self, oauth: MailOAuth, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._oauth = oauth
        self._tasks = TaskOwner("sign-in to e-mail")
        self._sign_ins = SignIns(self._clock, self._tasks)
        self._state: str | None = None
        self._step = LinkStep()
        self._beginning_sign_in = asyncio.Lock()
        self._signed_in = asyncio.Event()

    async def stop(self) -> None:
        """Stop reading, and give up a sign-in."""
        await super().stop()
        await self._sign_ins.close()
        await self._tasks.cancel_all(timeout_s=STOP_LIMIT_S)

    async def link(self, number: str | None = None) -> LinkStep:
        """Begin a sign-in, unless the mailbox is open or one goes on already; return where it stands."""
        async with self._beginning_sign_in:
            if not self._step.linked and self._step.url is None:
                self._step = await (self._by_code() if self._oauth.device_url else self._by_page())
        return self._step

    def link_step(self) -> LinkStep:
        """Return where it stands."""
        return self._step

    async def complete_link(self, pasted: str) -> LinkStep:
        """Complete a sign-in on a page with the address at which the browser ended."""
        if self._state is None:
            raise InvalidRequest("No sign-in waits for an address; begin with homarus channels link email.")
        await self._sign_ins.complete(self._state, pasted)
        return self._step

    async def _by_code(self) -> LinkStep:
        endpoint = self._oauth.endpoint
        begun = await begin_device_sign_in(endpoint, self._clock.time())

        async def wait() -> None:
            await self._done(await device_tokens(endpoint, begun, self._clock))

        self._tasks.spawn(self._or_error(wait()), name="wait for a code to be typed")
        return LinkStep(code=begun.code, url=begun.page)

    async def _by_page(self) -> LinkStep:
        pending, _ = await self._sign_ins.begin(self._oauth.endpoint, self._done)
        self._state = pending.state
        wait = self._sign_ins.wait(pending.state, 2 * SIGN_IN_LIMIT_S)
        self._tasks.spawn(self._or_error(wait), name="wait for a sign-in on a page")
        return LinkStep(url=pending.url)

    async def _or_error(self, wait: Awaitable[object]) -> None:
        try:
            await wait
        except HubError as error:
            self._step = LinkStep(error=error.message)

    async def _done(self, tokens: OAuthTokens) -> None:
        await self._login.keep(tokens)
        self._state, self._step = None, LinkStep()
        self._signed_in.set()

    async def _keep(self) -> None:
        """Stay connected; once refused, connect again when somebody has signed in."""
        while True:
            await keep_connected(self._connect, self._receive, self._clock)
            await self._signed_in.wait()

    async def _connect(self) -> None:
        self._signed_in.clear()
        try:
            await super()._connect()
        except AccountRefused as error:
            if self._step.url is None:
                self._step = LinkStep(error=str(error))
            raise
        finally:
            if self._step.linked:
                self._step = LinkStep()

    async def _begin(self, receive: Receiver, now: str) -> str | None:
        self._step = LinkStep(linked=True)
        return await super()._begin(receive, now)
