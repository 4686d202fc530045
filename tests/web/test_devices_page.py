"""The page of devices, over HTTP as a browser asks for it, with a node that connects."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.cli import parser
from node.home import read_setup_code
from tests.gateway.rig import Device, client_of
from tests.gateway.test_nodes import NODE_HOST
from tests.servers.hub_process import HubProcess
from tests.until import until
from tests.web.test_pages import signed_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_node_is_approved_renamed_and_removed_on_the_page(hub: HubProcess) -> None:
    device, rig = Device(), SimpleNamespace(url=hub.url)
    about: dict[str, Any] = NODE_HOST | {"auth": {"token": hub.token}}
    async with client_of(rig) as node, signed_in(hub) as owner:
        await node.connect(device, **about)
        (request,) = await until(lambda: hub.rpc("node.pair.list")["pending"])
        asking = await (await owner.get("/devices/phones")).text()
        fields = {"kind": "node", "id": request["requestId"], "answer": "approve"}
        await owner.post("/devices/answer", data=fields)
        await owner.post("/devices/rename", data={"id": device.id, "name": "Attic"})
        approved = await (await owner.get("/devices/phones")).text()
        removed = await owner.post("/devices/remove", data={"id": device.id})
        gone = await owner.post("/devices/remove", data={"id": device.id})
        after = await (await owner.get("/devices/phones")).text()

    assert "RecNode offers more commands" in asking
    assert "system.run" in asking
    assert "offers more commands" not in approved
    assert all(each in approved for each in ("Attic", "Connected", "system.which"))
    assert (removed.status, gone.status) == (200, 404)
    assert "Attic" not in after


async def test_who_is_connected_is_listed_with_who_used_it_last(hub: HubProcess) -> None:
    device, rig = Device(), SimpleNamespace(url=hub.url)
    about: dict[str, Any] = NODE_HOST | {"auth": {"token": hub.token}}
    async with client_of(rig) as node, signed_in(hub) as owner:
        await node.connect(device, **about)
        hub.rpc("system-event", {"text": "Studio", "instanceId": "x", "host": "Studio", "lastInputSeconds": 100})
        listed = (await (await owner.get("/devices/connected?format=json")).json())["instances"]
        shown = await (await owner.get("/devices/connected")).text()

    assert [(each["kind"], each["name"], each["state"]) for each in listed] == [
        ("", "This hub", "active"),
        ("Program", "Studio", "idle"),
        ("Node", "RecNode", "active"),
    ]
    assert all(each in shown for each in ("Studio", "1 min ago", "Idle", "RecNode"))


async def test_a_qr_code_pairs_a_phone_and_a_hub_on_loopback_says_what_is_missing(hub: HubProcess) -> None:
    async with signed_in(hub) as owner:
        missing = await (await owner.get("/devices/phones?add=phone")).text()
        refused = await owner.post("/devices/pair", data={"add": "app", "url": ""})
        shown = {
            kind: await (await owner.post("/devices/pair", data={"add": kind, "url": "wss://hub.example"})).text()
            for kind in ("phone", "app", "computer")
        }
        told = await refused.text()

    assert "Only this computer can reach the hub" in missing
    assert "Make it reachable with a certificate" in missing
    assert refused.status == 400
    assert "this machine only" in told
    assert "https://hub.example/p#" in shown["phone"]
    assert 'src="data:image/svg+xml' in shown["app"]
    command = re.search(r"homarus-node [^<]*", shown["computer"])
    assert command is not None
    _, *arguments = command[0].split()
    given = parser().parse_args(arguments)  # what a person copies from the page is what the program reads
    assert (given.command, read_setup_code(given.pair).url) == ("run", "wss://hub.example")


async def test_the_hub_is_made_reachable_with_a_certificate(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub:\n  reload: hot\n")
    with HubProcess(home) as hub:
        async with signed_in(hub) as owner:
            page = await (await owner.post("/devices/reach", data={"add": "phone"})).text()

    written = (home / "configuration.yaml").read_text()
    assert "host: 0.0.0.0" in written
    assert "tls/hub.crt" in written
    assert (home / "tls" / "ca.crt").is_file()
    assert "The hub restarts now" in page
    assert "/devices/phones?add=phone" in page
