"""The page of channels: what works, what does not and why, and a form that connects an app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser
from web.channels.channels_page import page_of


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("channels") / "home", "hub: {name: Pier}\n", own=("ferry",))
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    """A signed-in browser on the page; no account is left behind."""
    async with plain_browser(hub) as browser:
        await browser.goto("/channels")
        yield browser
    for each in hub.rpc("channels.status")["channelAccounts"].get("ferry", []):
        hub.rpc("channels.remove", {"channel": "ferry", "account": each["accountId"]})


async def connect(plain: PlainBrowser, token: str, account: str = "") -> None:
    await plain.follow("Ferry")
    plain.fill("Token", token)
    plain.fill("Name of the account", account)
    await plain.press("Connect")


async def test_an_app_is_connected_with_a_form(plain: PlainBrowser) -> None:
    assert "No chat app is connected yet." in plain.text("#channels")

    await connect(plain, "good1")

    assert plain.text("h1") == "Ferry"
    await plain.goto("/channels")
    assert plain.text("#c-ferry-default").startswith("Ferry ")
    assert plain.text("#c-ferry-default").endswith(" Connected Test")


async def test_what_the_platform_refuses_is_said_where_it_was_typed_and_not_kept(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    await connect(plain, "bad", "work")

    assert plain.status == 400
    assert "the token was refused" in plain.text(".field .wrong, [role=alert]")
    assert (plain.value("Name of the account"), plain.value("Token")) == ("work", "bad")
    assert "ferry" not in (hub.home / "configuration.yaml").read_text()


async def test_an_app_with_several_ways_is_connected_by_the_chosen_one(plain: PlainBrowser, hub: HubProcess) -> None:
    await plain.goto("/channels/add?channel=imessage")
    by_server, by_node = plain.page.select(".way")
    offered = [[str(each["name"]) for each in way.select("input:not([type=radio])")] for way in (by_server, by_node)]
    plain.fill("Server address", "http://192.0.2.9:1234")
    plain.field("homarus node")["checked"] = ""
    plain.field("BlueBubbles").attrs.pop("checked")
    await plain.press("Connect")

    assert offered == [["url", "password", "webhook_secret", "webhook_url"], ["node"]]
    assert plain.texts(".wrong") == [plain.text(".way:last-child .wrong")]
    assert plain.value("Server address") == "http://192.0.2.9:1234"
    assert "checked" in plain.field("homarus node").attrs


async def test_an_account_is_tested_and_removed(plain: PlainBrowser) -> None:
    await connect(plain, "good1")

    await plain.press("Test: Ferry default")
    answered = plain.text("main [role=status].good")
    await plain.press("Remove the account")

    assert answered == "Ferry answers."
    assert "No chat app is connected yet." in plain.text("#channels")


async def test_a_page_for_guests_shows_its_address(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("channels.add", {"channel": "webchat_page", "account": {"account": "hall"}})

    await plain.goto("/channels/account?channel=webchat_page&account=hall")
    shown = plain.text("main")
    hub.rpc("channels.remove", {"channel": "webchat_page", "account": "hall"})

    assert f"{hub.url}/webchat/hall" in shown
    assert "Only this computer can reach it" in shown
    assert not plain.page.select("img.qr")


@pytest.mark.parametrize(
    ("host", "secure", "url"),
    [
        ("127.0.0.1:8420", False, "http://192.0.2.7:8420/webchat/hall"),
        ("home.example", True, "https://home.example/webchat/hall"),
        ("192.0.2.9:80", False, "http://192.0.2.9:80/webchat/hall"),
    ],
)
def test_the_address_of_a_page_is_the_one_by_which_the_hub_is_reached(host: str, secure: bool, url: str) -> None:
    shown = page_of("http://192.0.2.7:8420/webchat/hall", host, secure=secure)

    assert (shown["url"], shown["far"]) == (url, True)
    assert shown["qr"].startswith("data:image/svg+xml")


async def test_an_account_that_fails_is_a_repair(plain: PlainBrowser, hub: HubProcess) -> None:
    await connect(plain, "good1")
    (hub.home / "secrets.yaml").write_text("ferry_token: bad\n")
    hub.rpc("integration.reload", {"domain": "ferry"})

    await plain.goto("/channels")
    assert "does not work" in plain.text("#channels")
    assert "the token was refused" in plain.text("#channels")
    assert [each["title"] for each in hub.rpc("status")["repairs"]] == ["ferry does not work"]
