"""Signing in to a mailbox with a browser: by a code, on a page, and what becomes of it when the right is taken back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from aiohttp import ClientConnectorError, ClientSession

from hub.core.clock import Clock, ManualClock
from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.messaging.capabilities import CanLink, CanSignIn, LinkStep
from hub.models.contract import AuthError, Overloaded
from hub.models.oauth import SLOWER_S, begin_device_sign_in, device_tokens
from integrations.channels.email.login import REDIRECT_URL, MailOAuth
from integrations.channels.email.sign_in import SignInEmail
from tests.channels.email_rig import EmailRig, mail
from tests.channels.kit import Heard
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.mail_server import access_token
from tests.servers.oauth_server import OAuthServer, oauth_server
from tests.until import until

UNSIGNED = "Nobody has signed in to this mailbox yet. Sign in with homarus channels link email"


@pytest.fixture
async def provider() -> AsyncIterator[OAuthServer]:
    async with oauth_server() as server:
        yield server


@pytest.fixture
async def rig(provider: OAuthServer) -> AsyncIterator[EmailRig]:
    rig = EmailRig()
    await rig.start()
    yield rig
    await rig.stop()


def by_code(provider: OAuthServer) -> MailOAuth:
    return MailOAuth(
        f"{provider.base_url}/token", "homarus-test", device_url=f"{provider.base_url}/device", scope="mail"
    )


def by_page(provider: OAuthServer) -> MailOAuth:
    return MailOAuth(
        f"{provider.base_url}/token",
        "homarus-test",
        client_secret=Secret("kept-back"),
        authorize_url=f"{provider.base_url}/authorize",
        scope="mail",
    )


def mailbox(rig: EmailRig, folder: Path, oauth: MailOAuth, provider: OAuthServer) -> SignInEmail:
    """A mailbox whose servers take what the provider gives."""
    channel = cast(SignInEmail, rig.channel(folder, Clock(), oauth=oauth))
    token = rig.smtp.token = access_token(rig.mailbox())
    provider.access_of = lambda _: token
    return channel


async def test_a_mailbox_is_opened_with_a_code_that_is_typed_anywhere(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    heard = Heard()
    channel = mailbox(rig, tmp_path, by_code(provider), provider)
    await channel.start(heard)
    await until(lambda: bool(heard.errors))

    begun = await channel.link()
    again = await channel.link()
    provider.typed = True
    await until(lambda: channel.link_step().linked)
    rig.delivers(mail("When?"))
    await until(lambda: bool(heard.inbound))
    await channel.stop()

    assert isinstance(channel, CanLink)
    assert isinstance(channel, CanSignIn)
    assert UNSIGNED in heard.errors[0]
    assert begun == again == LinkStep(code="WDJB-MJHT", url=f"{provider.base_url}/type-it")


async def test_a_sign_in_is_kept_and_one_that_was_taken_back_takes_a_person(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    provider.typed = True
    first = mailbox(rig, tmp_path, by_code(provider), provider)
    await first.start(Heard())
    await first.link()
    await until(lambda: first.link_step().linked)
    await first.stop()

    kept, revoked = Heard(), Heard()
    second = mailbox(rig, tmp_path, by_code(provider), provider)
    await second.start(kept)
    await until(lambda: kept.account_id is not None)
    await second.stop()
    provider.refresh = "another-not-a-secret"
    third = mailbox(rig, tmp_path, by_code(provider), provider)
    await third.start(revoked)
    await until(lambda: bool(revoked.errors))

    assert (tmp_path / "tokens-default.json").stat().st_mode & 0o077 == 0
    assert "the grant is no longer good" in revoked.errors[0]
    assert "Sign in with homarus channels link email" in revoked.errors[0]
    await third.link()
    await until(lambda: third.link_step().linked)
    await third.stop()


async def test_a_mailbox_is_opened_on_a_page_that_leads_back_to_the_hub(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    channel = mailbox(rig, tmp_path, by_page(provider), provider)
    await channel.start(Heard())
    step = await channel.link()

    async with ClientSession() as browser, browser.get(str(step.url)) as answer:
        said = await answer.text()
    await until(lambda: channel.link_step().linked)
    await channel.stop()

    assert "You are signed in" in said
    assert provider.asked[0]["client_secret"] == "kept-back"
    assert "access_type=offline" in str(step.url)


async def test_nobody_listens_for_a_sign_in_of_a_mailbox_that_was_stopped(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    channel = mailbox(rig, tmp_path, by_page(provider), provider)
    await channel.start(Heard())
    await channel.link()
    await channel.stop()

    with pytest.raises(ClientConnectorError):
        async with ClientSession() as browser, browser.get(REDIRECT_URL):
            pass


async def test_the_address_at_which_a_browser_elsewhere_ends_is_pasted(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    channel = mailbox(rig, tmp_path, by_page(provider), provider)
    await channel.start(Heard())
    with pytest.raises(HubError, match="No sign-in waits"):
        await channel.complete_link(f"{REDIRECT_URL}/?code=x&state=y")
    step = await channel.link()
    async with ClientSession() as browser, browser.get(str(step.url), allow_redirects=False) as answer:
        ended = answer.headers["Location"]

    with pytest.raises(HubError, match="another sign-in"):
        await channel.complete_link(f"{REDIRECT_URL}/?code=x&state=y")
    await channel.complete_link(ended)
    await until(lambda: channel.link_step().linked)
    await channel.stop()


async def test_a_refused_sign_in_says_why_and_can_begin_again(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    channel = mailbox(rig, tmp_path, by_code(provider), provider)
    await channel.start(Heard())
    provider.pauses = ["access_denied"]
    await channel.link()
    await until(lambda: channel.link_step().error is not None)
    refused = channel.link_step()
    provider.typed = True

    await channel.link()
    await until(lambda: channel.link_step().linked)
    await channel.stop()

    assert "refuses the sign-in" in str(refused.error)


async def test_a_code_is_asked_about_as_slowly_as_the_provider_wants_until_it_ends(provider: OAuthServer) -> None:
    clock = ManualClock()
    endpoint = by_code(provider).endpoint
    provider.code_life_s, provider.pauses = 60, ["slow_down"]
    begun = await begin_device_sign_in(endpoint, clock.time())
    waiting = asyncio.ensure_future(device_tokens(endpoint, begun, clock))
    while not waiting.done():
        await clock.advance(1)
        await asyncio.sleep(0.01)

    with pytest.raises(AuthError, match="Nobody typed the code in time"):
        await waiting
    assert len(provider.asked) <= 60 / SLOWER_S + 1


async def test_a_page_for_the_code_that_no_browser_should_open_is_refused(provider: OAuthServer) -> None:
    provider.page = "javascript:alert(1)"

    with pytest.raises(Overloaded, match="gave no page"):
        await begin_device_sign_in(by_code(provider).endpoint, 0.0)


async def test_a_mailbox_is_added_in_the_terminal_by_signing_in(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    section = rig.section()
    token = rig.smtp.token = access_token(rig.mailbox())
    provider.access_of = lambda _: token
    provider.typed = True
    given = {name: value for name, value in section.items() if name not in ("account", "password", "dm_policy")}
    given |= {
        f"oauth.{name}": f"{provider.base_url}/{name.removesuffix('_url')}" for name in ("token_url", "device_url")
    }
    given |= {"oauth.client_id": "homarus-test", "oauth.provider": "", "oauth.client_secret": ""}
    home = make_home(tmp_path / "home", "hub: {name: Pier}\n")

    async with provider_hub(home) as hub:
        ran = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hub", "channels", "add", "email", "--config", str(home)),
            *(f"--set={name}={value}" for name, value in given.items()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await ran.communicate()
        status = await asyncio.to_thread(hub.rpc, "channels.status")

    assert (ran.returncode, err.decode()) == (0, "")
    assert "email (default) is added; now sign in to it." in out.decode()
    assert f"Open {provider.base_url}/type-it on any device, type the code WDJB-MJHT" in out.decode()
    assert status["channelAccounts"]["email"][0]["connected"] is True
    assert "refresh" not in (home / "configuration.yaml").read_text()


@asynccontextmanager
async def provider_hub(home: Path) -> AsyncIterator[HubProcess]:
    """A hub in a process of its own, so that this one can be its provider."""
    process = HubProcess(home)
    await asyncio.to_thread(process.__enter__)
    try:
        yield process
    finally:
        await asyncio.to_thread(process.__exit__, None, None, None)
