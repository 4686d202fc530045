"""The developer's pages in a browser without scripts: what they say, and that they are forms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.conftest import CONFIGURATION
from tests.web.furnished_home import furnish
from tests.web.plain_browser import PlainBrowser


@pytest.fixture(scope="module")
def hub(model_server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("plain-developer") / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text(CONFIGURATION.format(base_url=model_server.base_url))
    furnish(home)
    with HubProcess(home) as process:
        yield process


async def test_states_events_services_and_templates_are_forms(plain: PlainBrowser) -> None:
    await plain.goto("/developer/events")
    plain.fill("Its type", "doorbell_rang")
    await plain.press("Fire event")
    assert "doorbell_rang" in plain.text("#events")

    await plain.goto("/developer")
    plain.fill("Entity", "sensor.plain")
    plain.fill("State", "7")
    await plain.press("Set it")
    plain.fill("Words", "plain")
    await plain.press("Filter")
    assert "7" in plain.text("#s-sensor-plain")

    await plain.goto("/developer/services?service=script.greet")
    plain.fill("Whom", "all")
    await plain.press("Call service")
    assert "Hello all" in plain.text()

    await plain.goto("/developer/templates")
    plain.fill("Template", "{{ states('sensor.plain') }}")
    await plain.press("Preview")
    assert plain.text("#preview pre") == "7"


@pytest.mark.parametrize(
    ("entity", "attributes", "told"),
    [
        ("automation.porch_light", "", "use the services of automation instead"),
        ("no entity", "", "entity"),
        ("sensor.porch", "lux: [", "neither YAML nor JSON"),
        ("sensor.porch", "- a list", "a mapping was expected"),
    ],
)
async def test_a_state_that_cannot_be_set_is_refused_and_what_was_typed_stays(
    plain: PlainBrowser, entity: str, attributes: str, told: str
) -> None:
    await plain.goto("/developer")

    plain.fill("Entity", entity)
    plain.fill("State", "x")
    plain.fill("Attributes, as YAML", attributes)
    await plain.press("Set it")

    assert told in plain.text("[role=alert]")
    assert plain.value("Entity") == entity
    assert plain.value("Attributes, as YAML") == attributes


async def test_an_event_of_the_hub_itself_cannot_be_made_up(plain: PlainBrowser) -> None:
    await plain.goto("/developer/events")

    plain.fill("Its type", "state_changed")
    await plain.press("Fire event")

    assert "cannot be fired" in plain.text("[role=alert]")


async def test_secrets_in_events_and_states_are_not_shown(plain: PlainBrowser, hub: HubProcess) -> None:
    secret = "test-key-of-a-scripted-server"
    await plain.goto("/developer/events?type=leaked")
    hub.rpc("event.fire", {"type": "leaked", "data": {"key": secret}})
    hub.rpc("state.set", {"entity_id": "sensor.leak", "state": "on", "attributes": {"key": secret}})

    await plain.goto("/developer/events?type=leaked")
    assert "redacted" in plain.text("#events code")
    await plain.goto("/developer?q=sensor.leak&entity_id=sensor.leak")
    assert "on" in plain.text("#s-sensor-leak")
    assert secret not in str(plain.page)


async def test_a_service_that_refuses_tells_why(plain: PlainBrowser) -> None:
    await plain.goto("/developer/services?service=automation.trigger&as=yaml")

    plain.fill("Data (JSON or YAML)", "entity_id: automation.nowhere")
    await plain.press("Call service")

    assert "automation.nowhere" in plain.text("[role=alert]")
    assert plain.value("Data (JSON or YAML)") == "entity_id: automation.nowhere"
