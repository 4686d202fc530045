"""Sensors of servers are what a real Home Assistant core makes of the same answers."""

from __future__ import annotations

import json
from pathlib import Path

from aiohttp import web

from hub.core.clock import ManualClock
from tests.hub_fixture import HubFixture
from tests.integrations.devices.rest.questions import answer, section
from tests.until import until

ONLY = ("hub database", "registries", "helpers", "integrations", "egress")
ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())
NO_STATE = {"sensor.json_1", "sensor.empty_1"}
"""What is no number: the core fails to write their first state, and has none; here they are unknown."""
NAMELESS = {"sensor.json_6"}
"""A state that is too long: the core writes it without attributes."""


async def test_a_real_core_reads_the_same(tmp_path: Path) -> None:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hub = HubFixture(
        tmp_path,
        "http://127.0.0.1:1",
        sections={"rest": section(f"http://127.0.0.1:{runner.addresses[0][1]}")},
        integrations={"rest"},
        clock=ManualClock(1_772_442_000.0),
        only=ONLY,
    )
    await hub.start()
    xml = ("sensor.xml_0", "binary_sensor.xml_0")
    await until(lambda: all(hub.states.get(each).state != "unavailable" for each in xml))  # type: ignore[union-attr]

    states = [*hub.states.all("sensor"), *hub.states.all("binary_sensor")]
    ours = {each.entity_id: [each.state, json.loads(json.dumps(dict(each.attributes)))] for each in states}
    await hub.stop()
    await runner.cleanup()

    assert {ours.pop(each)[0] for each in NO_STATE} == {"unknown"}
    assert {each: ours.pop(each)[0] for each in NAMELESS} == {each: ANSWERS[each][0] for each in NAMELESS}
    assert ours == {each: known for each, known in ANSWERS.items() if each not in NAMELESS}
