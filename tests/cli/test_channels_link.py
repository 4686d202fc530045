"""`homarus channels link`, and *Channels* of the dashboard: an account is linked to a phone by a code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("buoy") / "home", "hub: {name: Pier}\n", own=("buoy", "ferry"))
    with HubProcess(home) as process:
        yield process


@pytest.fixture(autouse=True)
def _no_account(hub: HubProcess) -> Iterator[None]:
    yield
    for channel, accounts in hub.rpc("channels.status")["channelAccounts"].items():
        for each in accounts:
            hub.rpc("channels.remove", {"channel": channel, "account": each["accountId"]})


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        yield browser


def test_an_account_that_is_added_is_linked_at_once(hub: HubProcess, ask: Terminal) -> None:
    added = ask("channels", "add", "buoy", "--set", "colour=red")

    assert added.code == 0, added.err
    assert added.out.startswith("buoy (default) is added; now link it to a phone.")
    assert "Linked devices" in added.out
    assert "buoy (default) is linked.\nNow write to it" in added.out
    assert hub.rpc("channels.status")["channelAccounts"]["buoy"][0]["connected"] is True


def test_a_number_gets_a_code_to_type_and_a_program_gets_the_step(hub: HubProcess, ask: Terminal) -> None:
    hub.rpc("channels.add", {"channel": "buoy", "account": {"colour": "red"}})

    linked = ask("channels", "link", "buoy", "--number", "+4915112345678")
    step = ask("channels", "link", "buoy", "--json").json

    assert "Link with phone number: CODE-+4915112345678" in linked.out
    assert step == {"linked": False, "qr": "b", "code": None, "url": None, "error": None}


def test_what_is_not_linked_says_why(hub: HubProcess, ask: Terminal) -> None:
    added = ask("channels", "add", "buoy", "--set", "colour=black")

    assert added.code == 1
    assert "nobody sees it at night" in added.err
    assert "colour: black" in (hub.home / "configuration.yaml").read_text()


def test_what_has_credentials_is_not_linked(hub: HubProcess, ask: Terminal) -> None:
    hub.rpc("channels.add", {"channel": "ferry", "account": {"token": "good"}})

    assert "channels login" in ask("channels", "link", "ferry").err
    assert "buoy has no account default" in ask("channels", "link", "buoy").err


async def test_the_dashboard_shows_the_code_until_it_is_scanned(hub: HubProcess, plain: PlainBrowser) -> None:
    await plain.goto("/channels/add?channel=buoy")
    plain.fill("Colour", "red")
    await plain.press("Connect")

    await plain.press("Show the code")
    shown = plain.text("main")
    await plain.goto("/channels/link?channel=buoy")

    assert "Scan this code there" in shown
    assert plain.text("h1") == "Buoy"
    assert "Show the code" not in plain.text("main")


async def test_the_dashboard_says_why_it_is_not_linked(hub: HubProcess, plain: PlainBrowser) -> None:
    hub.rpc("channels.add", {"channel": "buoy", "account": {"colour": "black"}})
    await plain.goto("/channels/account?channel=buoy")

    await plain.press("Show the code")

    assert "nobody sees it at night" in plain.text("[role=alert]")
    assert "Show another code" in plain.text("main")
