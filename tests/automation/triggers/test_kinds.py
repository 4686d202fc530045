"""What holds for every kind of trigger: its name, its words, its schema, and that refusing costs nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from hub.automation.definition.kinds import OUR_KINDS
from hub.core.json_schema import to_json_schema
from hub.core.schema import Invalid, Marker, Schema
from tests.automation.triggers.bench import Bench, explained, valid

TRIGGERS = OUR_KINDS.names("trigger")
PLAIN: dict[str, dict[str, Any]] = {
    "event": {"event_type": "a"},
    "device": {"device_id": "a", "domain": "mqtt", "type": "pressed"},
    "state": {"entity_id": "a.b"},
    "numeric_state": {"entity_id": "a.b", "above": 1},
    "template": {"value_template": "{{ true }}"},
    "time": {"at": "07:30"},
    "time_pattern": {"minutes": "/5"},
    "calendar": {"entity_id": "calendar.family"},
    "sun": {"event": "sunset"},
    "at": {"at": "20m"},
    "every": {"every": "1h"},
    "cron": {"expression": "0 7 * * *"},
    "message": {},
    "heartbeat": {},
    "agent": {"on": "run_ended"},
    "node": {"on": "connected"},
    "mqtt": {"topic": "a/b"},
    "webhook": {"webhook_id": "a"},
    "conversation": {"command": "hello"},
    "hub": {"event": "start"},
    "hook": {"hook": "session_start"},
    "file": {"path": "notes"},
    "feed": {"url": "https://a.example/feed"},
    "command": {"command": ["true"]},
    "zone": {"entity_id": "person.me", "zone": "zone.home"},
    "geo_location": {"source": "quakes", "zone": "zone.home"},
    "tag": {"tag_id": "a"},
    "persistent_notification": {},
}


@pytest.mark.parametrize("name", TRIGGERS)
def test_each_kind_has_a_name_words_and_a_schema_that_its_plainest_form_fits(name: str) -> None:
    kind = OUR_KINDS.trigger(name)
    schema = to_json_schema(Schema(dict(kind.fields)))

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(PLAIN[name])

    assert kind.name == name
    assert kind.description.endswith(".")
    assert all(isinstance(key, Marker) and key.description for key in kind.fields)
    assert explained({"trigger": name, **PLAIN[name]})


@pytest.mark.parametrize("name", TRIGGERS)
def test_what_was_validated_is_valid_again_and_the_same(name: str) -> None:
    once = valid({"trigger": name, **PLAIN[name]})
    once.pop("index")

    twice = valid(once)
    twice.pop("index")

    assert twice == once


@pytest.mark.parametrize("name", TRIGGERS)
def test_a_misspelt_key_is_refused_by_every_kind(name: str) -> None:
    with pytest.raises(Invalid, match="nonsense"):
        valid({"trigger": name, **PLAIN[name], "nonsense": 1})


@pytest.mark.parametrize("name", sorted(set(TRIGGERS) - {"command"}))
async def test_arming_and_disarming_leaves_nothing_behind(bench: Bench, name: str) -> None:
    bench.arm({"trigger": name, **PLAIN[name]})

    bench.disarm()
    bench.disarm()

    assert bench.bus.listener_counts() == {}
    assert len(bench.parts.timetable) == 0


async def test_disarming_twice_does_no_harm(bench: Bench) -> None:
    for name in sorted(set(TRIGGERS) - {"command"}):
        bench.arm({"trigger": name, **PLAIN[name]})
    ends = list(bench.ends)

    for end in ends * 2:
        end()

    assert bench.bus.listener_counts() == {}
