"""What the pages of automations say: found, not run, tried out, and looked for in the past."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.automations.test_list_page import AUTOMATIONS, FILE
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import outcomes
from tests.web.plain_browser import PlainBrowser


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("plain-list") / "home"
    home.mkdir(mode=0o700)
    text = CONFIGURATION.format(base_url=model_server.base_url) + f"automation: !include {FILE}\n"
    (home / "configuration.yaml").write_text(text)
    (home / FILE).write_text(AUTOMATIONS)
    with HubProcess(home) as process:
        yield process


async def test_the_list_is_searched_and_filtered(plain: PlainBrowser) -> None:
    await plain.goto("/automations")
    plain.fill("Find an automation", "door")
    await plain.press("Filter")
    assert len(plain.texts("tbody tr")) == 1

    plain.fill("State", "unavailable")
    await plain.press("Filter")
    assert "No automations match." in plain.text()

    await plain.follow("Show all")
    assert len(plain.texts("tbody tr")) == 3


async def test_why_another_did_not_run_is_told(plain: PlainBrowser, hub: HubProcess) -> None:
    hub.rpc("event.fire", {"type": "door"})
    until(lambda: hub.rpc("automation.not_run", {"id": "never"})["entries"])
    until(lambda: outcomes(hub, "lamp"))

    await plain.goto("/automations/never")
    assert "Triggered, but did not run:" in plain.text()
    await plain.follow("Why it did not run")

    told = plain.text("#not-run")
    assert "a condition was not met" in told.lower()
    assert "Lamp is on" in told
    await plain.goto("/automations/history?outcome=did_not_run")
    assert "Never" in plain.texts(".happenings a")


async def test_trying_out_tells_what_would_happen_and_does_nothing(plain: PlainBrowser, hub: HubProcess) -> None:
    before = len(hub.rpc("automation.trace", {"id": "lamp"})["traces"])
    await plain.goto("/automations/lamp")

    plain.fill("Which trigger fires", "0")
    await plain.press("Try it out")

    assert "It would run." in plain.text()
    await plain.goto("/automations/never?test=0")
    assert "It would not run:" in plain.text()
    assert len(hub.rpc("automation.trace", {"id": "lamp"})["traces"]) == before


async def test_the_past_tells_when_it_would_have_run(plain: PlainBrowser) -> None:
    await plain.goto("/automations/lamp")

    await plain.press("One day")

    assert "It would have run" in plain.text()
