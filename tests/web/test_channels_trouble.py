"""What waits for the owner on the page of channels: strangers who ask to write, and messages that were not sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser
from tests.web.test_pages import signed_in

CONFIGURATION = """\
hub: {name: Pier}
people:
  - {id: me, name: Me, owner: true}
  - {id: nils, name: Nils}
ferry:
  - token: good
    allow_from: ["ferry:user:anna", "ferry:user:fog"]
    group_policy: open
"""
CODE = re.compile(r"\b[A-Z2-9]{8}\b")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("trouble") / "home", CONFIGURATION, own=("ferry",))
    with HubProcess(home) as process:
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    """A signed-in browser; nothing that waits is left behind."""
    async with plain_browser(hub) as browser:
        yield browser
    for each in hub.rpc("outbox.list")["messages"]:
        if each["state"] not in ("sent", "sending"):
            hub.rpc("outbox.drop", {"id": each["id"]})
    for each in hub.rpc("pairing.list")["requests"]:
        hub.rpc("pairing.deny", {"channel": "ferry", "code": each["id"]})


def call(hub: HubProcess, service: str, **data: Any) -> Any:
    return hub.rpc("service.call", {"service": f"ferry.{service}", "data": data, "response": True})["response"]


async def stranger(hub: HubProcess, who: str) -> str:
    """Somebody unknown writes; return the code that they were shown."""
    call(hub, "land", who=who, text="hello", id=f"{who}-1")
    async with asyncio.timeout(30):
        while True:
            for text in call(hub, "sent")["texts"]:
                if f"ferry:user:{who}" in text and (code := CODE.search(text)) is not None:
                    return code[0]
            await asyncio.sleep(0.02)


async def waiting(plain: PlainBrowser, words: str) -> None:
    """Open Home once it shows who asks: that is announced after the code was sent."""
    async with asyncio.timeout(30):
        while True:
            await plain.goto("/")
            if words in plain.text("#pairing"):
                return
            await asyncio.sleep(0.02)


async def test_a_stranger_is_let_in_by_their_code_on_home(plain: PlainBrowser, hub: HubProcess) -> None:
    code = await stranger(hub, "per")
    await waiting(plain, "ferry:user:per")
    card, badge = plain.text("#pairing"), plain.text("#waiting-count")

    plain.fill("The code that they give you", code.lower())
    await plain.press("Let them in: Per (per)")

    assert "Per asks to write to the assistant" in card
    assert badge == "1 waiting for you"
    assert "Per (per) may write to the assistant now." in plain.text("[role=status].good")
    assert plain.text("#pairing") == ""
    assert "hidden" in plain.page.select_one("#waiting-count").attrs  # type: ignore[union-attr]
    assert "Per (per) is paired" in plain.text("#who-ferry-default")

    await plain.press("Revoke Per (per)")
    assert "Nobody is paired." in plain.text("#who-ferry-default")


async def test_a_stranger_is_let_in_as_a_person_of_this_home(plain: PlainBrowser, hub: HubProcess) -> None:
    code = await stranger(hub, "nils")
    await waiting(plain, "ferry:user:nils")

    plain.fill("The code that they give you", code)
    plain.fill("Who it is", "nils")
    await plain.press("Let them in: Per (nils)")

    assert "identities:" in (hub.home / "configuration.yaml").read_text()
    call(hub, "land", who="nils", text="/whoami", id="nils-2")
    async with asyncio.timeout(30):
        while not any("Nils" in text for text in call(hub, "sent")["texts"]):  # noqa: ASYNC110  another process answers
            await asyncio.sleep(0.02)


async def test_a_wrong_code_is_refused_where_it_was_typed(plain: PlainBrowser, hub: HubProcess) -> None:
    await stranger(hub, "ida")
    await waiting(plain, "ferry:user:ida")
    code_of_another = await stranger(hub, "ulf")
    await plain.goto("/channels/people")

    plain.fill("The code that they give you", code_of_another)
    await plain.press("Let them in: Per (ida)")

    assert plain.status == 404
    assert "no pairing request" in plain.text("#pairing .wrong")
    assert [each["identity"] for each in hub.rpc("pairing.list")["requests"]] == ["ferry:user:ida", "ferry:user:ulf"]


async def test_a_stranger_is_refused_without_a_code(plain: PlainBrowser, hub: HubProcess) -> None:
    await stranger(hub, "ole")
    await waiting(plain, "ferry:user:ole")

    await plain.press("Deny: Per (ole)")

    assert "Per (ole) was refused" in plain.text("[role=status].good")
    assert "Per (ole) was refused" in plain.text("#who-ferry-default")


async def test_whom_the_configuration_lets_in_is_shown(plain: PlainBrowser) -> None:
    await plain.goto("/channels/people")

    who = plain.text("#who-ferry-default")
    assert "people of this home, the list, and whoever is paired anna fog" in who
    assert "Groups every group" in who


async def test_what_was_not_sent_is_shown_with_its_reason_and_sent_again_or_dropped(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    for peer in ("nobody", "fog"):
        hub.rpc("message.send", {"channel": "ferry", "to": peer, "message": f"Hello {peer}"})
    hub.rpc("message.send", {"channel": "ferry", "to": "away", "message": "later", "timeoutMs": 0})

    await plain.goto("/channels/unsent")
    shown = plain.text("#undelivered")
    await plain.press("Send again: Hello nobody")
    async with asyncio.timeout(30):
        while "2 attempts" in plain.text("#undelivered") or "Hello nobody" not in plain.text("#undelivered"):
            await asyncio.sleep(0.02)
            await plain.goto("/channels/unsent")
    await plain.press("Drop: Hello nobody")

    assert "Hello nobody 1 attempt · there is no such pier ferry:nobody" in shown
    assert "Hello fog 1 attempt" in shown
    assert "may not have arrived" in shown
    await plain.goto("/channels")
    assert "1 message waits to be sent" in plain.text("#channels")
    assert [each["to"] for each in hub.rpc("outbox.list", {"state": ["dead", "unknown"]})["messages"]] == ["fog"]


async def test_conversations_show_their_channel_and_what_became_of_the_last_message(
    plain: PlainBrowser, hub: HubProcess
) -> None:
    for who in ("fog", "anna"):
        call(hub, "land", who=who, text="hello", id=f"{who}-1")
    hub.rpc("sessions.create", {"key": "agent:main:webchat:direct:here"})

    everywhere: list[str] = []
    async with asyncio.timeout(30):
        while len(everywhere) != 3 or not any("may not have arrived" in each for each in everywhere):
            await asyncio.sleep(0.05)
            await plain.goto("/chat/sessions")
            everywhere = plain.texts("#sessions li")
    await plain.follow("Ferry")

    assert sorted("may not have arrived" in each for each in plain.texts("#sessions li")) == [False, True]
    await plain.goto("/chat/sessions?channel=pigeon")
    assert plain.text("#sessions") == "No conversation here yet."


async def test_an_open_page_shows_at_once_who_asks_and_what_was_not_sent(plain: PlainBrowser, hub: HubProcess) -> None:
    async with signed_in(hub) as session, session.ws_connect("/live") as socket:
        await socket.send_json({"t": "watch", "topics": ["pairing", "waiting", "channels", "sessions:ferry"]})
        wanted = {"pairing", "waiting-count", "channels", "undelivered", "sessions"}
        while wanted:
            wanted.discard((await socket.receive_json(timeout=30)).get("id"))

        await stranger(hub, "eva")
        hub.rpc("message.send", {"channel": "ferry", "to": "nobody", "message": "Is anybody there?"})

        news = {"pairing": "ferry:user:eva", "waiting-count": ">2<", "undelivered": "Is anybody there?"}
        async with asyncio.timeout(30):
            while news:
                frame = await socket.receive_json()
                if frame.get("id") in news and news[frame["id"]] in frame["html"]:
                    del news[frame["id"]]


async def test_who_may_only_read_sees_no_stranger_and_no_number(plain: PlainBrowser, hub: HubProcess) -> None:
    await stranger(hub, "tor")
    await waiting(plain, "ferry:user:tor")
    token = hub.rpc("token.create", {"name": "reader", "scopes": ["operator.read"]})["token"]

    async with ClientSession(hub.url, headers={"Authorization": f"Bearer {token}"}) as reader:
        page = await (await reader.get("/", headers={"Accept": "text/html"})).text()
        data = await (await reader.get("/?format=json")).json()
        pairing = await reader.post("/channels/pairing", data={"channel": "ferry", "id": "x", "answer": "deny"})
        async with reader.ws_connect("/live") as socket:
            await socket.send_json({"t": "watch", "topics": ["pairing", "waiting", "channels", "home"]})
            while (frame := await socket.receive_json(timeout=30)).get("t") != "pulse":
                pass

    assert ("ferry:user:tor" in page, "waiting-count" in page, data["pairing"]) == (False, False, [])
    assert pairing.status == 403
    assert frame.keys() == {"t", "revision"}
