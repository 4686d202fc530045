"""Repairs over the gateway: listed without secrets, mended as whoever asks, ignored over a restart."""

from __future__ import annotations

from pathlib import Path

from hub.core.repairs import RepairFix
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer


async def test_a_fix_is_made_with_the_rights_of_whoever_asks(house: HubFixture) -> None:
    house.repairs.raise_("test", "one", "It is broken", fix=RepairFix("token.list", {}, "Look"))
    one = {"source": "test", "id": "one"}

    async with connected(house, scopes=["operator.write"]) as client:
        assert (await client.call("repairs.fix", one))["error"]["code"] == "FORBIDDEN"
        listed = (await client.call("repairs.list"))["payload"]["repairs"]
    async with connected(house) as client:
        answer = await client.call("repairs.fix", one)

    assert [(each["id"], each["fix"], each["ignored"]) for each in listed] == [("one", "Look", False)]
    assert answer["payload"] == {"ok": True, "open": True}


async def test_what_cannot_be_mended_says_so(house: HubFixture) -> None:
    house.repairs.raise_("test", "plain", "It is broken")
    house.repairs.raise_("test", "wrong", "It is broken", fix=RepairFix("token.revoke", {"id": "none"}, "Try"))

    async with connected(house) as client:
        refused = await client.call("repairs.fix", {"source": "test", "id": "plain"})
        failed = await client.call("repairs.fix", {"source": "test", "id": "wrong"})
        missing = await client.call("repairs.fix", {"source": "test", "id": "none"})

    assert refused["error"]["code"] == "INVALID_REQUEST"
    assert failed["error"]["code"] == "NOT_FOUND"
    assert missing["error"]["message"] == "This problem is not open any more."


async def test_what_is_ignored_stays_so_over_a_restart(tmp_path: Path, openai_server: OpenAIServer) -> None:
    for ignored in (False, True):
        async with HubFixture(tmp_path / "home", openai_server.base_url) as house:
            repair = house.repairs.raise_("test", "one", "It is broken")
            assert house.repairs.is_ignored(repair) is ignored
            async with connected(house) as client:
                await client.call("repairs.ignore", {"source": "test", "id": "one"})
            assert house.repairs.is_ignored(repair)
