"""The triggers `zone`, `geo_location`, `tag` and `persistent_notification`, and the condition `zone`."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.services.hub_services import register_notices
from hub.core.context import SYSTEM, Context
from tests.automation.conditions.test_kinds import ask
from tests.automation.ground import make_parts
from tests.automation.triggers.bench import Bench

HOME = {"friendly_name": "Elm Street", "latitude": 52.5, "longitude": 13.4, "radius": 100}
AT_HOME = {"latitude": 52.5, "longitude": 13.4}
AWAY = {"latitude": 52.6, "longitude": 13.4}


@pytest.mark.parametrize(
    ("event", "places", "fires"),
    [
        ("enter", [AWAY, AT_HOME], True),
        ("enter", [AT_HOME], True),
        ("enter", [AT_HOME, {**AT_HOME, "battery": 1}], False),
        ("enter", [AWAY, {}], False),
        ("enter", [AT_HOME, AWAY], False),
        ("leave", [AT_HOME, AWAY], True),
        ("leave", [AT_HOME, None], True),
        ("leave", [AT_HOME, {}], False),
        ("leave", [AWAY, {**AWAY, "battery": 1}], False),
        ("enter", [AWAY, {**AWAY, "gps_accuracy": 20_000}], True),
    ],
)
@pytest.mark.parametrize("kind", ["zone", "geo_location"])
async def test_a_zone_is_entered_and_left_by_position(
    bench: Bench, kind: str, event: str, places: list[Any], fires: bool
) -> None:
    entity = "person.ada" if kind == "zone" else "geo_location.quake"
    config = {"entity_id": entity} if kind == "zone" else {"source": "Quakes"}
    bench.states.set("zone.home", "0", HOME)
    for each in places[:-1]:
        bench.states.set(entity, "x", {**each, "source": "quakes"})
    site = bench.arm({"trigger": kind, "zone": "zone.home", "event": event, **config})

    if places[-1] is None:
        bench.states.remove(entity)
    else:
        bench.states.set(entity, "x", {**places[-1], "source": "quakes"})

    assert len(site.fired) == fires
    if fires:
        told = site.fired[0].trigger
        assert (told["entity_id"], told["event"], told["zone"].name) == (entity, event, "Elm Street")


async def test_only_the_named_tag_counts(bench: Bench) -> None:
    site = bench.arm({"trigger": "tag", "tag_id": ["hall", "door"], "device_id": "phone"})

    bench.fire("tag_scanned", {"tag_id": "cellar", "device_id": "phone"})
    bench.fire("tag_scanned", {"tag_id": "door", "device_id": "another"})
    bench.fire("tag_scanned", {"tag_id": "door", "device_id": "phone"})

    assert [each.trigger["event"]["data"]["tag_id"] for each in site.fired] == ["door"]


async def test_notices_come_and_go(bench: Bench) -> None:
    register_notices(bench.parts.services, bench.parts.repairs, bench.bus)
    every = bench.arm({"trigger": "persistent_notification"})
    gone = bench.arm({"trigger": "persistent_notification", "notification_id": "a", "update_type": "removed"})
    context = Context(SYSTEM)

    for name, data in [
        ("create", {"notification_id": "a", "message": "One", "title": "First"}),
        ("create", {"notification_id": "b", "message": "Two"}),
        ("dismiss", {"notification_id": "nothing"}),
        ("dismiss_all", {}),
    ]:
        await bench.parts.services.call("persistent_notification", name, data, context=context)

    told = [(each.trigger["update_type"], each.trigger["notification"]["notification_id"]) for each in every.fired]
    assert told == [("added", "a"), ("added", "b"), ("removed", "a"), ("removed", "b")]
    assert [each.trigger["notification"]["title"] for each in gone.fired] == ["First"]


@pytest.mark.parametrize(
    ("entities", "zones", "holds"),
    [
        ("person.ada", "zone.home", True),
        ("person.ben", "zone.home", False),
        (["person.ada", "person.ben"], ["zone.home", "zone.work"], True),
        (["person.ada", "person.ben"], "zone.work", False),
    ],
)
def test_people_are_in_a_zone_by_position(entities: Any, zones: Any, holds: bool) -> None:
    parts = make_parts()
    parts.states.set("zone.home", "0", HOME)
    parts.states.set("zone.work", "0", {**HOME, **AWAY})
    parts.states.set("person.ada", "home", AT_HOME)
    parts.states.set("person.ben", "Work", AWAY)

    assert ask(parts, {"condition": "zone", "entity_id": entities, "zone": zones}).holds is holds
