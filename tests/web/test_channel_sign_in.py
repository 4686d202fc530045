"""Signing in to a mailbox on the dashboard, from the tile of the app until it is connected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.channels.email_rig import EmailRig
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.mail_server import access_token
from tests.servers.oauth_server import OAuthServer, oauth_server
from tests.web.browser import Chromium
from tests.web.conftest import sign_in
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ELSEWHERE = r"request to the outside: http://127\.0\.0\.1:"
"""The page of the provider, and the way back from there."""
ADD_FIELDS = """(fields) => {
  const form = document.querySelector("form[action='/channels/add']");
  form.elements["oauth.provider"].remove();
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
}"""
"""Has the form say what is known of the two providers that it offers, and of their servers."""


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[OAuthServer]:
    async with oauth_server() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def rig(provider: OAuthServer) -> AsyncIterator[EmailRig]:
    rig = EmailRig()
    await rig.start()
    rig.section()
    token = rig.smtp.token = access_token(rig.mailbox())
    provider.access_of = lambda _: token
    yield rig
    await rig.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    """The channels of a hub in a process of its own, so that this one can be its provider."""
    process = HubProcess(make_home(tmp_path / "home", "hub: {name: Pier}\n"))
    await asyncio.to_thread(process.__enter__)
    async with Chromium(browser, process.url) as profiles:
        page = await (await sign_in(profiles, process)).new_page()
        await page.goto("/channels")
        yield page
        profiles.allowed.append(ELSEWHERE)
    await asyncio.to_thread(process.__exit__, None, None, None)
    assert profiles.unexpected() == []


async def fill(page: Page, rig: EmailRig, **sign_in: str) -> None:
    """Choose e-mail, and fill in the form for a mailbox to which one signs in."""
    section = rig.section()
    await page.get_by_role("link", name="E-mail").click()
    await page.get_by_role("textbox", name="E-mail address", exact=True).fill(section["address"])
    await page.get_by_label("IMAP server").fill(section["imap_host"])
    await page.get_by_label("SMTP server").fill(section["smtp_host"])
    await page.get_by_label("Server that checks senders").fill(section["authserv_id"])
    await page.get_by_label("Port of SMTP").fill(str(section["smtp_port"]))
    await page.get_by_label("Encryption of SMTP").select_option("none")
    await expect(page.get_by_label("Client ID")).to_be_hidden()
    await page.get_by_role("radio", name="Signing in").check()
    await expect(page.get_by_label("Password", exact=True)).to_be_hidden()
    await page.get_by_label("Client ID").fill("homarus-test")
    assert await faults(page) == []
    known = {name: str(section[name]) for name in ("username", "imap_port", "imap_security")}
    await page.evaluate(ADD_FIELDS, known | {f"oauth.{name}": url for name, url in sign_in.items()})


async def test_a_mailbox_is_connected_by_a_code_that_is_typed_at_its_provider(
    page: Page, rig: EmailRig, provider: OAuthServer
) -> None:
    await fill(page, rig, token_url=f"{provider.base_url}/token", device_url=f"{provider.base_url}/device")
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_role("heading", name="E-mail", level=1, exact=True)).to_be_visible()
    assert await faults(page) == []
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("WDJB-MJHT")).to_be_visible()
    assert await faults(page) == []

    provider.typed = True

    await expect(page.get_by_text("Connected", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Sign in")).to_have_count(0)


async def test_a_mailbox_is_connected_on_a_page_of_its_provider(
    page: Page, rig: EmailRig, provider: OAuthServer
) -> None:
    await fill(page, rig, token_url=f"{provider.base_url}/token", authorize_url=f"{provider.base_url}/authorize")
    await page.get_by_role("button", name="Connect").click()
    await page.get_by_role("button", name="Sign in").click()
    assert await faults(page) == []
    pasting = await page.request.get(f"{page.url}&paste=1")
    assert "Address at which the browser ended" in await pasting.text()
    assert "refresh" not in pasting.headers  # what is typed would be gone
    async with page.expect_popup() as opened:
        await page.get_by_role("link", name="Open the page").click()
    await expect((await opened.value).get_by_text("You are signed in")).to_be_visible()

    await expect(page.get_by_text("Connected", exact=True)).to_be_visible()
