"""What pickers offer."""

from __future__ import annotations

import pytest

from tests.servers.hub_process import HubProcess
from tests.web.test_pages import signed_in


@pytest.mark.parametrize(
    ("kind", "query", "value"),
    [
        ("agent", "", "main"),
        ("entity", "owner", "person.owner"),
        ("icon", "washing", "mdi:washing-machine"),
        ("model", "script", "my_server/scripted"),
        ("person", "own", "owner"),
        ("service", "notify", "notify.notify"),
    ],
)
async def test_a_picker_finds_by_name_and_by_value(hub: HubProcess, kind: str, query: str, value: str) -> None:
    async with signed_in(hub) as owner, owner.get("/pick", params={"kind": kind, "q": query}) as answer:
        items = (await answer.json())["items"]

    assert value in [each["value"] for each in items]
    assert all(each["text"] and each["icon"] for each in items)


@pytest.mark.parametrize("kind", ["area", "channel", "device", "entity"])
async def test_a_picker_of_what_is_not_there_is_empty(hub: HubProcess, kind: str) -> None:
    async with signed_in(hub) as owner, owner.get("/pick", params={"kind": kind, "q": "no such thing"}) as answer:
        assert await answer.json() == {"items": []}


async def test_an_unknown_kind_is_refused_with_those_there_are(hub: HubProcess) -> None:
    headers = {"Accept": "application/json"}
    async with signed_in(hub) as owner, owner.get("/pick", params={"kind": "cat"}, headers=headers) as answer:
        assert answer.status == 400
        assert "entity" in (await answer.json())["error"]["message"]
