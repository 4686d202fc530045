"""Integrations are listed, reloaded with changed files, enabled and disabled while a real hub runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.config.seed import seed
from hub.core.errors import InvalidRequest, NotFound
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.e2e.homes import add_integration

SETUP = """
async def setup(host, config):
    host.states.set("sensor.bell", "{state}", dict(config or {}))
"""
TRIGGER = """
from hub.automation.contract import TriggerKind
from hub.core.schema import Required, string


def arm(config, host):
    return host.parts.bus.listen(
        "bell_rung", lambda event: host.fire({"description": "bell", "loudness": "{loudness}"}, event.context)
    )


KINDS = {
    "bell": TriggerKind(
        "bell", {Required("door"): string}, arm, lambda config: f"when the bell at {config['door']} rings", "A bell."
    )
}
"""
AUTOMATIONS = """
- id: rung
  triggers: [{trigger: bell, door: front}]
  actions: [{event: heard, event_data: {loudness: "{{ trigger.loudness }}"}}]
"""


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    folder = add_integration(home.path, "bell", SETUP.replace("{state}", "old"), default=True, triggers=["bell"])
    (folder / "trigger.py").write_text(TRIGGER.replace("{loudness}", "soft"))
    (home.path / "automations.yaml").write_text(AUTOMATIONS)
    hub = Hub(home, port=0)
    try:
        await hub.start()
        yield hub
    finally:
        await hub.stop()


def folder_of(hub: Hub, domain: str) -> Path:
    return hub.home.custom_integrations / domain


def state(hub: Hub, domain: str) -> Any:
    return hub.integration_control.get(domain)["state"]


async def heard(hub: Hub) -> Any:
    """Ring, and return how loud the automation heard it."""
    hub.bus.fire("bell_rung", {})
    return (await hub.bus.wait_for("heard", timeout_s=30)).data["loudness"]


async def test_a_trigger_of_an_integration_is_checked_explained_and_fires(hub: Hub) -> None:
    assert not hub.config.errors
    assert "when the bell at front rings" in hub.automation.explain("rung")
    assert await heard(hub) == "soft"
    assert "missing" in str(hub.config.check_text({"automations.yaml": "- {id: x, triggers: [{trigger: bell}]}"})[0])


async def test_a_reload_takes_up_changed_code_schema_and_trigger_without_a_restart(hub: Hub) -> None:
    folder = folder_of(hub, "bell")
    (folder / "__init__.py").write_text(SETUP.replace("{state}", "new"))
    (folder / "schema.py").write_text(
        "from hub.core.schema import Optional, Schema\n"
        "CONFIG_SCHEMA = Schema({Optional('door', default='back'): str})\n"
    )
    (folder / "trigger.py").write_text(TRIGGER.replace("{loudness}", "loud"))

    await hub.integration_control.reload("bell")

    now = hub.states.get("sensor.bell")
    assert now is not None
    assert (now.state, now.attributes) == ("new", {"door": "back"})
    assert await heard(hub) == "loud"


async def test_a_failed_integration_works_after_its_code_was_fixed_and_reloaded(hub: Hub) -> None:
    folder = folder_of(hub, "bell")
    (folder / "__init__.py").write_text("def broken(:\n")
    failed = await hub.integration_control.reload("bell")
    (folder / "__init__.py").write_text(SETUP.replace("{state}", "fixed"))

    fixed = await hub.integration_control.reload("bell")

    assert (failed["state"], fixed["state"], fixed["reason"]) == ("failed", "set_up", "")
    assert "SyntaxError" in failed["reason"]


async def test_an_integration_that_came_while_the_hub_runs_is_taken_up(hub: Hub) -> None:
    add_integration(hub.home.path, "gong", SETUP.replace("{state}", "gong"), default=True)

    came = await hub.integration_control.reload("gong")

    assert came["state"] == "set_up"


async def test_a_disabled_integration_stays_off_in_the_files_until_it_is_enabled(hub: Hub) -> None:
    configuration = hub.home.configuration
    configuration.write_text("# mine\n" + configuration.read_text())

    disabled = await hub.integration_control.disable("bell")
    written = configuration.read_text()
    enabled = await hub.integration_control.enable("bell")

    assert (disabled["state"], enabled["state"]) == ("disabled", "set_up")
    assert written.startswith("# mine\n")
    assert "bell" in written.split("disabled")[1].split("\n\n")[0]
    assert "disabled" not in configuration.read_text().split("\npeople")[0]


async def test_all_integrations_are_listed_also_those_that_nothing_uses(hub: Hub) -> None:
    add_integration(hub.home.path, "unused", SETUP)

    with pytest.raises(InvalidRequest, match="add unused: to the configuration"):
        await hub.integration_control.reload("unused")
    listed = {each["domain"]: each["state"] for each in hub.integration_control.list()}

    assert listed["bell"] == "set_up"
    assert listed["unused"] == "available"
    with pytest.raises(NotFound, match="did you mean bell"):
        hub.integration_control.get("bel")
