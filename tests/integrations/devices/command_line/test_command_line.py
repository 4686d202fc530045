"""Entities by commands, in a whole hub: what they show, what their services run, and who is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.events import Event
from hub.core.schema import Invalid
from integrations.devices.command_line.schema import CONFIG_SCHEMA
from tests.hub_fixture import HubFixture
from tests.until import until

Start = Callable[..., Awaitable[HubFixture]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts a hub with these items, whose owner lets commands run without a question."""
    hubs: list[HubFixture] = []

    async def start(*items: dict[str, Any], mode: str = "full", answers: Any = None) -> HubFixture:
        sections: dict[str, Any] = {"command_line": list(items), "exec": {"mode": mode}}
        hub = HubFixture(tmp_path, "http://127.0.0.1:1", sections=sections, integrations=("shell", "command_line"))
        hubs.append(hub)
        if answers is not None:
            hub.bus.listen("approval_requested", partial(answers, hub))
        await hub.start()
        return hub

    yield start
    for each in hubs:
        await each.stop()


async def becomes(hub: HubFixture, entity_id: str, state: str) -> dict[str, Any]:
    await until(lambda: (found := hub.states.get(entity_id)) is not None and found.state == state)
    found = hub.states.get(entity_id)
    assert found is not None
    return dict(found.attributes)


async def call(hub: HubFixture, service: str, **data: Any) -> None:
    domain, _, name = service.partition(".")
    await hub.services.call(domain, name, data, context=Context(hub.people.owner_authority()))


async def test_sensors_read_what_commands_write(start: Start) -> None:
    hub = await start(
        {
            "sensor": {
                "name": "Load",
                "command": "echo 21.5",
                "unit_of_measurement": "%",
                "value_template": "{{ value | round }}",
            }
        },
        {
            "sensor": {
                "name": "Cards",
                "command": 'echo \'{"free": 3, "of": 9}\'',
                "value_template": "{{ value_json.free }}",
                "json_attributes": ["of"],
            }
        },
        {"binary_sensor": {"name": "Up", "command": "echo up", "payload_on": "up", "payload_off": "down"}},
        {"binary_sensor": {"name": "Other", "command": "echo neither"}},
        {"sensor": {"name": "Failing", "command": "false"}},
    )

    assert (await becomes(hub, "sensor.load", "22"))["unit_of_measurement"] == "%"
    assert (await becomes(hub, "sensor.cards", "3"))["of"] == 9
    await becomes(hub, "binary_sensor.up", "on")
    await becomes(hub, "binary_sensor.other", "unknown")
    await becomes(hub, "sensor.failing", "unavailable")


async def test_a_switch_runs_its_commands_and_assumes_what_no_command_tells(start: Start, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hub = await start(
        {"switch": {"name": "Plain", "command_on": "echo on", "command_off": "false"}},
        {
            "switch": {
                "name": "Told",
                "command_on": f"touch {mark}",
                "command_off": f"rm {mark}",
                "command_state": f"test -e {mark}",
            }
        },
        {"switch": {"name": "Said", "command_state": "echo YES", "value_template": "{{ value == 'YES' }}"}},
    )
    assert (await becomes(hub, "switch.plain", "off"))["assumed_state"]
    await becomes(hub, "switch.told", "off")
    await becomes(hub, "switch.said", "on")

    await call(hub, "switch.turn_on", entity_id="switch.plain")
    await becomes(hub, "switch.plain", "on")
    with pytest.raises(HubError, match="code 1"):
        await call(hub, "switch.turn_off", entity_id="switch.plain")
    await becomes(hub, "switch.plain", "on")
    await call(hub, "switch.turn_on", entity_id="switch.told")
    assert mark.exists()
    await becomes(hub, "switch.told", "on")
    await call(hub, "switch.turn_off", entity_id="switch.told")
    await becomes(hub, "switch.told", "off")


async def test_a_cover_runs_its_commands_and_has_the_position_that_one_tells(start: Start, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_text("40")
    hub = await start(
        {
            "cover": {
                "name": "Blind",
                "command_close": f"cp /dev/null {place}",
                "command_state": f"cat {place}",
                "value_template": "{{ value or 0 }}",
            }
        },
        {"cover": {"name": "Gate", "device_class": "gate"}},
    )
    assert (await becomes(hub, "cover.blind", "open"))["current_position"] == 40
    await becomes(hub, "cover.gate", "unknown")

    await call(hub, "cover.close_cover", entity_id="cover.blind")
    assert (await becomes(hub, "cover.blind", "closed"))["current_position"] == 0
    await call(hub, "cover.stop_cover", entity_id="cover.gate")


@pytest.mark.parametrize("command", ["tee {}", "{{{{ 'tee' }}}} {}"])
async def test_a_message_is_the_input_of_a_command_whatever_is_in_it(
    start: Start, tmp_path: Path, command: str
) -> None:
    kept = tmp_path / "said.txt"
    hub = await start({"notify": {"name": "desk", "command": command.format(kept)}})

    await call(hub, "notify.desk", message="it's $(id) {{ 1 }} | cat %s\\n", title="x")

    assert kept.read_text() == "it's $(id) {{ 1 }} | cat %s\\n"


async def test_a_cover_outlives_what_is_no_position(start: Start, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_text("50")
    commands = {"command_open": f"printf inf > {place}", "command_close": f"printf 0 > {place}"}
    hub = await start({"cover": {"name": "Blind", "command_state": f"cat {place}", **commands}})
    await becomes(hub, "cover.blind", "open")

    await call(hub, "cover.open_cover", entity_id="cover.blind")
    assert (await becomes(hub, "cover.blind", "open"))["current_position"] == 50
    await call(hub, "cover.close_cover", entity_id="cover.blind")
    assert (await becomes(hub, "cover.blind", "closed"))["current_position"] == 0


@pytest.mark.parametrize(("says", "state"), [(True, "7"), (False, "unavailable")])
async def test_a_command_that_needs_a_question_is_asked_about_once_and_then_left_alone(
    start: Start, says: bool, state: str
) -> None:
    asked = list[str]()

    async def answer(hub: HubFixture, event: Event) -> None:
        asked.append(event.data["id"])
        await hub.approvals.resolve(event.data["id"], says, Context(hub.people.owner_authority()))

    sensor = {"name": "Asked", "command": "python3 -c 'print(7)'", "scan_interval": 1}
    hub = await start({"sensor": sensor}, mode="ask", answers=answer)

    (repair,) = await until(lambda: [each for each in hub.repairs.all() if each.source == "command_line"])
    await becomes(hub, "sensor.asked", state)
    assert "sensor.asked" in str(repair.title)
    assert len(asked) == 1


async def test_whoever_is_not_the_owner_runs_nothing_on_the_machine(start: Start, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hub = await start({"switch": {"name": "Plain", "command_on": f"touch {mark}"}})
    await becomes(hub, "switch.plain", "off")

    somebody = Context(Authority("token:x", scopes=frozenset({"operator.write"})))
    with suppress(HubError):  # where there is a sandbox, it runs there
        await hub.services.call("switch", "turn_on", {"entity_id": "switch.plain"}, context=somebody)

    assert not mark.exists()


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({}, "expected one of"),
        ({"sensor": {"command": "a"}, "switch": {}}, "expected one of"),
        ({"sensor": {}}, "required key"),
        ({"light": {}}, "not allowed|unknown|extra"),
        ({"cover": {"command": "a"}}, "not allowed|unknown|extra"),
    ],
)
def test_an_item_is_one_entity_with_its_own_keys(item: Any, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        CONFIG_SCHEMA([item])
