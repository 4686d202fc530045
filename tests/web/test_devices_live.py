"""Devices in a browser: tiles act at once and show what others do, a chart is drawn, a room is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, another_page, opened
from tests.web.conftest import CONFIGURATION
from tests.web.looks import faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SETUP = """
from hub.core.errors import Unavailable
from hub.entities.description import DeviceInfo, EntityDescription


def device(name):
    return DeviceInfo(frozenset({name}), name=name, suggested_area="Living room")


async def setup(host, config):
    async def dim(data):
        lamp.set("on", {"brightness": data.get("brightness", 102)})

    async def off(data):
        lamp.set("off", {"brightness": None})

    async def warm(data):
        heating.set("heat", {"temperature": data["temperature"], "current_temperature": 20.4})

    async def refuse(data):
        raise Unavailable("the pump does not answer")

    can = {"supported_color_modes": ["brightness"]}
    lamp = host.entities.add(
        EntityDescription("light", "lamp", device=device("Sofa lamp"), attributes=can),
        {"turn_on": dim, "turn_off": off},
    )
    lamp.set("on", {"brightness": 79})
    limits = {"min_temp": 5, "max_temp": 30, "target_temp_step": 0.5}
    heating = host.entities.add(
        EntityDescription("climate", "heating", device=device("Heating"), attributes=limits), {"set_temperature": warm}
    )
    heating.set("heat", {"temperature": 21.0, "current_temperature": 20.4})
    host.entities.add(
        EntityDescription("switch", "pump", device=device("Pump")), {"turn_on": refuse, "turn_off": refuse}
    ).set("off")
    power = host.entities.add(EntityDescription("sensor", "power", device=device("Power"), unit="W"))
    for value in ("3", "17.5", "4"):
        power.set(value)
    flow = host.entities.add(EntityDescription("sensor", "flow", device=device("Flow"), unit="l/min"))
    for value in ("1", "2.5", "0"):
        flow.set(value)
"""


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("tiles") / "home"
    folder = home / "custom_integrations" / "things"
    folder.mkdir(parents=True, mode=0o700)
    manifest = {"domain": "things", "name": "Things", "kind": "tool", "version": "1.0.0", "description": "Things."}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "__init__.py").write_text(SETUP)
    (folder / "schema.py").write_text(
        "from hub.core.schema import AnyOf, Schema\n\nCONFIG_SCHEMA = Schema(AnyOf({}, None))\n"
    )
    configuration = CONFIGURATION.format(base_url=model_server.base_url)
    (home / "configuration.yaml").write_text(f"{configuration}things:\n")
    with HubProcess(home) as process:
        yield process


def state(hub: HubProcess, entity_id: str) -> dict[str, object]:
    found: dict[str, object] = hub.rpc("state.get", {"entity_id": entity_id})["attributes"]
    return found


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile", has=page.get_by_text(name, exact=True)).first


async def test_a_light_is_dimmed_and_a_thermostat_set_by_tile(signed_in: BrowserContext, hub: HubProcess) -> None:
    page = await opened(signed_in, "/devices/rooms")
    await page.evaluate("window.stays = true")

    await page.get_by_role("slider", name="Sofa lamp").press("End")
    await expect(tile(page, "Sofa lamp")).to_contain_text("On · 100 %")
    await page.get_by_role("button", name="Warmer: Heating").click()
    await expect(tile(page, "Heating")).to_contain_text("21.5°")
    await page.get_by_role("button", name="Warmer: Heating").click()
    await expect(tile(page, "Heating")).to_contain_text("22°")

    await until(lambda: state(hub, "light.sofa_lamp")["brightness"] == 255)  # the tile shows it at once
    await until(lambda: state(hub, "climate.heating")["temperature"] == 22)
    assert await page.evaluate("window.stays")


async def test_what_others_do_is_shown_and_what_fails_is_said(
    chromium: Chromium, signed_in: BrowserContext, hub: HubProcess
) -> None:
    chromium.allowed.append("status of 503")
    page = await opened(signed_in, "/devices/rooms")

    hub.rpc("service.call", {"service": "light.turn_off", "data": {"entity_id": "light.sofa_lamp"}})
    await expect(tile(page, "Sofa lamp")).to_contain_text("Off")
    await page.get_by_role("button", name="Sofa lamp", exact=True).click()
    await expect(tile(page, "Sofa lamp")).to_contain_text("On · 40 %")
    hub.rpc(
        "service.call", {"service": "light.turn_on", "data": {"entity_id": "light.sofa_lamp", "brightness_pct": 60}}
    )
    await expect(page.get_by_role("slider", name="Sofa lamp")).to_have_value("60")
    await page.get_by_role("button", name="Pump", exact=True).click()

    await expect(page.locator("#toasts")).to_contain_text("the pump does not answer")
    await expect(tile(page, "Pump")).to_contain_text("Off")


async def test_the_past_of_a_device_is_drawn_with_a_legend(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/devices/all?q=power")

    async with another_page(page):
        await page.get_by_role("link", name="Power").click()

    await expect(page.locator("#chart canvas")).to_be_visible()
    await expect(page.locator("#chart .u-legend")).to_contain_text("Power")
    await page.get_by_text("The latest changes").first.click()
    await expect(page.get_by_role("cell", name="17.5 W")).to_be_visible()
    await page.get_by_role("img", name="Chart of Power").focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#chart .u-legend")).to_contain_text("4 W")
    await expect(page.locator("#announcer")).to_contain_text("Power 4 W")
    await page.get_by_role("main").get_by_role("link", name="Timeline").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Timeline")
    await expect(page.get_by_role("link", name="Without Power")).to_be_visible()


async def test_a_room_is_added_in_a_dialog_and_given_devices_by_the_picker(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/devices/rooms")

    await page.get_by_role("link", name="Add a room").click()
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    await page.keyboard.type("Cellar")
    async with another_page(page):
        await page.get_by_role("dialog").get_by_role("button", name="Add").click()
    await page.get_by_role("combobox", name="Devices in this room").fill("Pu")
    await page.get_by_role("option", name="Pump").click()
    await page.get_by_role("button", name="Save").click()

    await expect(page.locator("#room-cellar")).to_contain_text("Pump")
    assert [each["entity_id"] for each in hub.rpc("entities.list", {"area_id": "cellar"})["entities"]] == [
        "switch.pump"
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/devices/rooms",
        "/devices/rooms?area=living_room",
        "/devices/all",
        "/devices/all?entity=sensor.power",
        "/devices/all?entity=climate.heating",
        "/devices/phones?add=app",
    ],
)
async def test_the_pages_are_accessible_and_fit(signed_in: BrowserContext, path: str) -> None:
    page = await opened(signed_in, path)

    assert await faults(page) == []


async def test_a_part_of_a_chart_is_looked_at_closely_and_one_line_alone(
    signed_in: BrowserContext, hub: HubProcess
) -> None:
    page = await opened(signed_in, "/devices/all?q=power")
    async with another_page(page):
        await page.get_by_role("link", name="Power").click()
    await page.get_by_text("Compare", exact=True).click()
    await page.get_by_role("combobox", name="Compare with").fill("Fl")
    await page.get_by_role("option", name="Flow").click()
    async with another_page(page):
        await page.get_by_role("button", name="Show").click()
    over = page.locator("#chart .u-over")
    lines = page.locator("#chart .u-legend .u-series")
    await expect(lines).to_have_count(3)  # the time is one

    box = await over.bounding_box()
    assert box is not None
    await page.mouse.move(0, 0)
    before = await over.screenshot()
    await page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 100)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 100, steps=8)
    await page.mouse.up()
    await page.mouse.move(0, 0)
    closer = await over.screenshot()
    await over.dblclick()
    await page.mouse.move(0, 0)
    again = await over.screenshot()
    await lines.last.get_by_text("Flow").click()

    await expect(lines.nth(1)).to_have_class(re.compile("u-off"))
    await expect(lines.nth(2)).not_to_have_class(re.compile("u-off"))
    assert before != closer
    assert again == before
