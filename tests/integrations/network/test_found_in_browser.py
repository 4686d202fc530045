"""What announces itself in the network, set up by a person in a browser without a line of YAML, and then used."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import aiomqtt
import pytest
from playwright.async_api import expect
from zeroconf import IPVersion
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from tests.e2e.talk import until
from tests.integrations.network.namespaces import OTHERS, Cable, enter, hub_in, running_in
from tests.integrations.network.test_discovery import cable as cable_of_the_network
from tests.servers.mosquitto import Mosquitto
from tests.web.browser import NAMES, Chromium, is_ready, launched
from tests.web.looks import faults

cable = cable_of_the_network
PLUG = {
    "name": "Desk plug",
    "unique_id": "plug_1",
    "command_topic": "plug/set",
    "state_topic": "plug",
    "payload_on": "ON",
    "payload_off": "OFF",
}


class Neighbour:
    """Another machine with a broker that it announces, and a plug at the broker that does what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def run(self, end: asyncio.Event) -> None:
        with Mosquitto(host=OTHERS) as broker:
            zeroconf = AsyncZeroconf(interfaces=[OTHERS], ip_version=IPVersion.V4Only)
            type = "_mqtt._tcp.local."
            info = AsyncServiceInfo(
                type, f"Cellar.{type}", broker.port, server="cellar.local.", parsed_addresses=[OTHERS]
            )
            await (await zeroconf.async_register_service(info))
            plug = asyncio.create_task(self._be_a_plug(broker.port))
            await end.wait()
            plug.cancel()
            await zeroconf.async_close()

    async def _be_a_plug(self, port: int) -> None:
        async with aiomqtt.Client(OTHERS, port) as client:
            await client.publish("homeassistant/switch/plug_1/config", json.dumps(PLUG), retain=True)
            await client.publish("plug", "OFF", retain=True)
            await client.subscribe("plug/set")
            async for message in client.messages:
                self.told.append(str(message.payload, "utf-8"))
                await client.publish("plug", message.payload, retain=True)


def browser_in(namespace: str, folder: Path) -> str:
    """Return a program that is Chromium in a namespace."""
    chromium = next(found for name in NAMES if (found := shutil.which(name)))
    program = folder / "chromium"
    program.write_text(f'#!/bin/sh\nexec {" ".join(enter(namespace))} {chromium} "$@"\n')
    program.chmod(0o700)
    return str(program)


def listed(client: HubClient, method: str) -> str:
    """Return what a method lists; nothing as long as there is no such method."""
    try:
        return json.dumps(client.call(method))
    except CommandFailed:
        return ""


@pytest.mark.browser
@pytest.mark.timeout(300)
async def test_a_broker_in_the_network_is_found_and_set_up_by_two_clicks_and_its_plug_is_switched(
    cable: Cable, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    neighbour = Neighbour()

    with hub_in(cable.first, home), running_in(cable.second, neighbour.run):
        client = HubClient(home)
        link = client.call("dashboard.link")["url"]
        async with launched([browser_in(cable.first, tmp_path)]) as browser, Chromium(browser, link) as chromium:
            page = await (await chromium.context()).new_page()
            await page.goto(link)
            await is_ready(page)
            await page.goto("/welcome/found")
            await page.get_by_role("button", name="Look around").click()
            await page.wait_for_url("**/welcome/found")
            await is_ready(page)
            await asyncio.to_thread(until, lambda: "Cellar" in listed(client, "discovery.list"))
            await page.goto("/welcome/found")
            await is_ready(page)
            await expect(page.get_by_text("Cellar")).to_be_visible()
            assert await faults(page) == []

            await page.get_by_role("link", name="Set these up").click()
            await expect(page.get_by_role("heading", name="We found MQTT broker")).to_be_visible()
            await page.get_by_role("button", name="Set up").click()
            await expect(page.get_by_text("configured")).to_be_visible()

            await asyncio.to_thread(until, lambda: "Desk plug" in listed(client, "entities.list"))
            await page.goto("/devices/rooms")
            await is_ready(page)
            plug = page.get_by_role("button", name="Desk plug")
            await plug.click()
            await expect(plug).to_have_attribute("aria-pressed", "true")
            assert chromium.unexpected() == []

    assert neighbour.told == ["ON"]
