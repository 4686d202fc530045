"""“Add milk to the shopping list” means the list of a connected Home Assistant, where there is one of that name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority, Context
from tests.hub_fixture import HubFixture
from tests.integrations.devices.home_assistant.core_double import TOKEN, CoreDouble
from tests.until import until

LIST = "todo.shopping_list"
ME = Context(Authority("peer:test:user:1", person="me", owner=True))


@pytest.fixture
async def core() -> AsyncIterator[CoreDouble]:
    async with CoreDouble() as core:
        core.states[LIST] = {"s": "1", "a": {"friendly_name": "Shopping List", "supported_features": 15}, "c": "01"}
        core.states[LIST] |= {"lc": 1.0, "lu": 1.0}
        core.exposed[LIST] = {"conversation": True}
        core.answers["todo.get_items"] = {LIST: {"items": [{"summary": "Bread", "uid": "1", "status": "needs_action"}]}}
        yield core


@pytest.fixture
async def hub(core: CoreDouble, tmp_path: Path) -> AsyncIterator[HubFixture]:
    sections = {
        "models": {"default": "offline/homarus"},
        "memory": {"embeddings": {"provider": "none"}},
        "home_assistant": {"url": core.url, "token": TOKEN},
        "people": [{"id": "me", "name": "Me", "owner": True}],
    }
    integrations = ("home_assistant", "media", "offline", "home", "notes", "webchat")
    async with HubFixture(tmp_path, "", sections=sections, integrations=integrations) as hub:
        await until(lambda: hub.states.get(LIST))
        yield hub


async def said(hub: HubFixture, text: str) -> str:
    answer = await hub.services.call("agent", "run", {"message": text}, context=ME, wants_response=True)
    assert answer is not None
    return str(answer["reply"])


def called(core: CoreDouble) -> list[tuple[str, Any]]:
    return [(each["service"], each["service_data"]) for each in core.called]


async def test_items_are_added_read_and_taken_off_there(hub: HubFixture, core: CoreDouble) -> None:
    added = await said(hub, "add milk and eggs to the shopping list")
    gone = await said(hub, "take bread off the shopping list")
    chinese = await said(hub, "把牛奶加到购物清单")
    read = await said(hub, "what's on the shopping list?")

    assert added == "Added to the shopping list:\n- milk\n- eggs"
    assert gone == "Removed from the shopping list:\n- bread"
    assert "牛奶" in chinese
    assert read == "On the shopping list:\n- Bread"
    assert called(core) == [
        ("add_item", {"item": "milk"}),
        ("add_item", {"item": "eggs"}),
        ("get_items", {}),
        ("remove_item", {"item": ["Bread"]}),
        ("add_item", {"item": "牛奶"}),
        ("get_items", {"status": ["needs_action"]}),
    ]


async def test_a_list_of_another_name_is_memorys_and_stays_so(hub: HubFixture, core: CoreDouble) -> None:
    first = await said(hub, "add a tent to the packing list")
    await until(lambda: hub.states.get("todo.packing"))
    second = await said(hub, "add a map to the packing list")
    read = await said(hub, "what's on the packing list?")

    assert (first, second) == ("Added to the packing list:\n- tent", "Added to the packing list:\n- map")
    assert read == "On the packing list:\n- tent\n- map"
    assert called(core) == []
