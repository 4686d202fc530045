"""Who an agent answers is chosen from the directory, by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import PlainBrowser, plain_browser
from tests.web.test_pages import signed_in

CONFIGURATION = """\
ferry: [{token: good}]
agents: [{id: main}, {id: cook, name: Cook}]
people: [{id: anna, name: Anna, owner: true, identities: ["ferry:user:pier-7"]}]
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("chats") / "home", CONFIGURATION, own=("ferry",))
    with HubProcess(home) as process:
        process.rpc("service.call", {"service": "ferry.land", "data": {"who": "pier-7", "text": "hi", "id": "m"}})
        yield process


@pytest.fixture
async def plain(hub: HubProcess) -> AsyncIterator[PlainBrowser]:
    async with plain_browser(hub) as browser:
        await browser.goto("/agents/agent?id=cook")
        yield browser


@pytest.mark.parametrize(
    ("query", "value", "text"),
    [
        ("", "ferry/default/direct/pier-7", "Anna"),
        ("annab", "ferry/default/direct/pier-70", "Annabel"),
        ("quay", "ferry/default/channel/quay", "The Quay"),
    ],
)
async def test_a_picker_offers_who_wrote_and_what_the_platforms_list(
    hub: HubProcess, query: str, value: str, text: str
) -> None:
    async with signed_in(hub) as owner, owner.get("/pick", params={"kind": "chat", "q": query}) as answer:
        items = (await answer.json())["items"]

    assert (value, text) in [(each["value"], each["text"]) for each in items]
    assert {each["sub"] for each in items} == {"Ferry"}


async def test_chats_are_bound_and_shown_by_name(plain: PlainBrowser, hub: HubProcess) -> None:
    plain.fill("People, groups and rooms", "ferry/default/direct/pier-7, ferry/default/channel/quay")
    await plain.press("Save")

    assert hub.rpc("agents.get", {"agentId": "cook"})["chats"] == [
        {"channel": "ferry", "account": "default", "peer": "pier-7", "kind": "direct"},
        {"channel": "ferry", "account": "default", "peer": "quay", "kind": "channel"},
    ]
    assert "Anna" in str(plain.page.select("hm-pick[kind=chat]")[0].attrs["picked"])
    explained = hub.rpc("route.explain", {"channel": "ferry", "peer": "pier-7", "chatType": "direct"})
    assert "cook" in str(explained)

    plain.fill("People, groups and rooms", "")
    await plain.press("Save")
    assert hub.rpc("agents.get", {"agentId": "cook"})["chats"] == []


async def test_what_is_no_chat_stays_in_the_form_at_its_field(plain: PlainBrowser) -> None:
    plain.fill("People, groups and rooms", "somebody")
    await plain.press("Save")

    assert plain.status == 400
    assert "such as telegram:123456" in plain.text("main")
    assert plain.value("People, groups and rooms") == "somebody"
