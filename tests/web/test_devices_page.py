"""The page of devices, over HTTP as a browser asks for it, with a node that connects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.gateway.rig import Device, client_of
from tests.gateway.test_nodes import NODE_HOST
from tests.servers.hub_process import HubProcess
from tests.web.test_pages import signed_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_node_is_approved_renamed_and_removed_on_the_page(hub: HubProcess) -> None:
    device, rig = Device(), SimpleNamespace(url=hub.url)
    about: dict[str, Any] = NODE_HOST | {"auth": {"token": hub.token}}
    async with client_of(rig) as node, signed_in(hub) as owner:
        await node.connect(device, **about)
        asking = await (await owner.get("/devices")).text()
        (request,) = hub.rpc("node.pair.list")["pending"]
        fields = {"kind": "node", "id": request["requestId"], "answer": "approve"}
        await owner.post("/devices/answer", data=fields)
        await owner.post("/devices/rename", data={"id": device.id, "name": "Attic"})
        approved = await (await owner.get("/devices")).text()
        removed = await owner.post("/devices/remove", data={"id": device.id})
        gone = await owner.post("/devices/remove", data={"id": device.id})
        after = await (await owner.get("/devices")).text()

    assert "RecNode offers more commands" in asking
    assert "system.run" in asking
    assert "offers more commands" not in approved
    assert all(each in approved for each in ("Attic", "Connected", "system.which"))
    assert (removed.status, gone.status) == (200, 404)
    assert "Attic" not in after


async def test_a_qr_code_pairs_a_phone_and_a_hub_on_loopback_says_what_is_missing(hub: HubProcess) -> None:
    async with signed_in(hub) as owner:
        refused = await owner.post("/devices/pair", data={"access": "full", "url": ""})
        shown = await owner.post("/devices/pair", data={"access": "node", "url": "wss://hub.example"})
        told, page = await refused.text(), await shown.text()

    assert refused.status == 400
    assert "this machine only" in told
    assert 'src="data:image/png;base64,' in page
