from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from tests.lengths import in_long_runs
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.web.browser import Chromium, another_page, is_ready, opened
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import BLUEPRINT, TextServer, furnish, outcomes
from tests.web.looks import faults, violations
from tests.web.plain_browser import PlainBrowser, plain_browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[TextServer]:
    with TextServer() as server:
        yield server


@pytest.fixture(scope="module")
def hub(
    model_server: OpenAIServer, elsewhere: TextServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("blueprints") / "home"
    home.mkdir(mode=0o700)
    text = CONFIGURATION.format(base_url=model_server.base_url)
    (home / "configuration.yaml").write_text(f'{text}network: {{allow_private: ["127.0.0.1:{elsewhere.port}"]}}\n')
    furnish(home)
    with HubProcess(home) as process:
        yield process


def shelved(hub: HubProcess, name: str, text: str = BLUEPRINT) -> str:
    """Put a blueprint on the shelf by its gateway method; return its path."""
    path = f"tests/{name}.yaml"
    hub.rpc("blueprint.import", {"text": text.replace("Tell when it rings", name), "path": path, "overwrite": True})
    return path


async def test_an_automation_is_made_of_a_blueprint_and_runs(signed_in: BrowserContext, hub: HubProcess) -> None:
    path = shelved(hub, "Rings")
    page = await opened(signed_in, "/blueprints")

    async with another_page(page):
        await page.get_by_role("link", name="Use it Rings").click()
    await page.get_by_label("Name", exact=True).fill("The bell")
    await page.get_by_label("Which event").fill("front_bell")
    await page.get_by_label("What it tells").fill("somebody is there")
    await page.get_by_role("main").get_by_text("More", exact=True).click()
    await page.get_by_role("slider", name="How loud").fill("8")
    await expect(page.locator("output")).to_contain_text("8")
    await page.get_by_role("button", name="Show result").click()
    await expect(page.get_by_role("region", name="What it becomes")).to_contain_text("event_type: front_bell")
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/automations/*")
    hub.rpc("event.fire", {"type": "front_bell"})

    written = next(item for item in hub.rpc("automation.list")["automations"] if item["alias"] == "The bell")
    found = hub.rpc("automation.yaml", {"id": written["id"]})["automation"]
    given = {"kind": "front_bell", "what": "somebody is there", "loud": 8}
    assert found["use_blueprint"] == {"path": path, "input": given}
    assert "# Automations of the browser tests." in (hub.home / "automations.yaml").read_text()
    ended = await until(lambda: outcomes(hub, written["id"]))
    assert ended == ["finished"]


async def test_what_is_wrong_is_told_at_its_field_and_what_was_typed_stays(
    signed_in: BrowserContext, hub: HubProcess, chromium: Chromium
) -> None:
    chromium.allowed.append("status of 422")
    path = shelved(hub, "Wrong")
    page = await opened(signed_in, f"/blueprints/use?path={path}")

    await page.get_by_label("Which event").fill("typed_here")
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_role("alert")).to_contain_text("Some fields have errors")
    await expect(page.get_by_label("What it tells")).to_have_attribute("aria-invalid", "true")
    await expect(page.locator(".wrong", has_text="Required")).to_be_visible()
    await expect(page.get_by_label("Which event")).to_have_value("typed_here")
    assert await violations(page) == []


async def test_the_inputs_of_an_automation_can_be_filled_in_again(hub: HubProcess) -> None:
    path = shelved(hub, "Again")
    id = hub.rpc("blueprint.use", {"path": path, "input": {"what": "one", "loud": 2}, "alias": "Changed later"})["id"]
    async with plain_browser(hub) as plain:
        await plain.goto(f"/automations/{id}/edit")
        await plain.follow("Edit inputs")
        assert plain.value("What it tells") == "one"

        plain.fill("What it tells", "two")
        plain.fill("How loud", "99")
        await plain.press("Save")
        assert "expected a number from 1 to 10" in plain.text()
        plain.fill("How loud", "2")
        await plain.press("Save")

    found = hub.rpc("automation.yaml", {"id": id})["automation"]
    assert found["use_blueprint"]["input"] == {"what": "two", "loud": 2}


async def test_a_file_can_be_chosen(signed_in: BrowserContext) -> None:
    page = await opened(signed_in, "/blueprints")
    text = BLUEPRINT.replace("Tell when it rings", "Aus der Datei, für später")
    await page.get_by_label("Or a file").set_input_files(
        {"name": "x.yaml", "mimeType": "application/yaml", "buffer": text.encode()}
    )
    await page.get_by_role("button", name="Review it first").click()

    await expect(page.get_by_role("heading", name="Aus der Datei, für später")).to_be_visible()


def afar(plain: PlainBrowser) -> str:
    return f"[aria-labelledby='{plain.region('From afar')['aria-labelledby']}']"


async def test_one_from_a_url_is_kept_up_to_date_and_removed(hub: HubProcess, elsewhere: TextServer) -> None:
    elsewhere.text = BLUEPRINT.replace("Tell when it rings", "From afar")
    async with plain_browser(hub) as plain:
        await plain.goto("/blueprints")
        plain.fill("Address", elsewhere.url)
        await plain.press("Review it first")
        await plain.press("Import it")
        assert plain.url.startswith(f"{hub.url}/blueprints/use?")
        elsewhere.text = elsewhere.text.replace("event: bell_told", "event: bell_told_anew")

        await plain.goto("/blueprints")
        await plain.press("Look for an update", within=afar(plain))
        assert "bell_told_anew" in " ".join(plain.texts("ins"))
        await plain.press("Take this version")
        file = next(hub.home.glob("blueprints/automation/**/told.yaml"))
        assert "bell_told_anew" in file.read_text()
        await plain.goto("/blueprints")
        await plain.press("Look for an update", within=afar(plain))
        assert "this is the newest version" in plain.text()

        await plain.goto("/blueprints")
        await plain.press("Remove it", within=afar(plain))

        assert "From afar" not in plain.texts("h2, h3")
        assert not file.exists()


async def test_the_pages_are_accessible_and_fit(signed_in: BrowserContext, hub: HubProcess) -> None:
    used = [
        shelved(hub, "Looks"),
        "homarus/battery_low.yaml",
        *in_long_runs("homarus/heartbeat.yaml", "homarus/morning_briefing.yaml"),
    ]
    places = ["/blueprints", *(f"/blueprints/use?path={path}" for path in used)]
    page = await signed_in.new_page()
    found = {}

    for place in places:
        await page.goto(place)
        await is_ready(page)
        await page.evaluate(
            "document.querySelectorAll('main details:not(.menu)').forEach((each) => { each.open = true; })"
        )
        found[place] = await faults(page)

    assert found == {place: [] for place in places}
