"""Helpers keep what they hold, what people decided about them, and whose words are in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.config.check import check
from hub.config.sections import Sections
from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.entities.helpers.home_helpers import SAVE_AFTER_S
from hub.sections import core_sections
from tests.entities.helpers.questions.steps import PLACE, START
from tests.hub_fixture import HubFixture
from tests.until import until

ONLY = ("storage", "registries", "helpers")
NOTE = {"input_text": {"note": {"name": "Note"}}, "input_boolean": {"guests": None}}


def home(folder: Path, clock: ManualClock, sections: dict[str, Any] = NOTE) -> HubFixture:
    given = {"hub": PLACE, **sections}
    return HubFixture(folder, "http://127.0.0.1:1", sections=given, clock=clock, only=ONLY)


async def test_what_a_helper_holds_outlives_a_crash(tmp_path: Path) -> None:
    clock = ManualClock(START)
    died = home(tmp_path, clock)
    await died.start()
    await died.services.call("input_boolean", "turn_on", {"entity_id": "all"}, context=Context(SYSTEM))
    await clock.advance(SAVE_AFTER_S)
    await until((tmp_path / ".storage/helpers.json").exists)

    async with home(tmp_path / "copy", clock, {}) as fresh:
        assert fresh.states.get("input_boolean.guests") is None
    (tmp_path / "copy/.storage/helpers.json").write_bytes((tmp_path / ".storage/helpers.json").read_bytes())
    async with home(tmp_path / "copy", clock) as again:
        state = again.states.get("input_boolean.guests")

    assert state is not None
    assert state.state == "on"
    await died.stop()


async def test_words_of_others_count_as_such_after_a_restart_too(tmp_path: Path) -> None:
    clock = ManualClock(START)
    tainted = []

    async def note(hub: HubFixture, value: str, context: Context) -> None:
        await hub.services.call("input_text", "set_value", {"entity_id": "all", "value": value}, context=context)
        tainted.append(whose(hub))

    def whose(hub: HubFixture) -> bool:
        state = hub.states.get("input_text.note")
        assert state is not None
        return state.context.authority.tainted

    async with home(tmp_path, clock) as hub:
        tainted.append(whose(hub))
        await note(hub, "mine", Context(SYSTEM))
        await note(hub, "a stranger's", Context(SYSTEM.narrow(tainted=True)))
    async with home(tmp_path, clock) as hub:
        tainted.append(whose(hub))
        await note(hub, "mine again", Context(SYSTEM))

    assert tainted == [False, False, True, True, False]


async def test_a_renamed_helper_keeps_its_id_and_one_that_left_the_file_is_forgotten(tmp_path: Path) -> None:
    clock = ManualClock(START)
    async with home(tmp_path, clock) as hub:
        hub.entities.registry.update("entity", "input_boolean.guests", entity_id="input_boolean.visitors")
        await hub.services.call(
            "input_boolean", "turn_on", {"entity_id": "input_boolean.visitors"}, context=Context(SYSTEM)
        )
    async with home(tmp_path, clock) as hub:
        state = hub.states.get("input_boolean.visitors")
        assert state is not None
        assert state.state == "on"
    async with home(tmp_path, clock, {"input_text": NOTE["input_text"]}) as hub:
        ids = {each for each in hub.entities.registry.entities if not each.startswith("sensor.sun_")}
        assert ids == {"input_text.note", "person.owner", "sun.sun", "zone.home"}
        (tmp_path / "configuration.yaml").write_text("input_boolean: {fresh: }\n")

        await hub._reload()

        assert set(hub.entities.registry.entities) == {"input_boolean.fresh", "person.owner"}
        assert hub.states.get("input_text.note") is None


async def test_a_broken_helper_is_left_out_alone_and_loses_nothing(tmp_path: Path) -> None:
    clock = ManualClock(START)
    good = {"input_number": {"a": {"min": 0, "max": 9}, "b": {"min": 0, "max": 9}}}
    async with home(tmp_path, clock, good) as hub:
        await hub.services.call("input_number", "set_value", {"entity_id": "all", "value": 5}, context=Context(SYSTEM))
    bad = {"input_number": {**good["input_number"], "b": {"min": 0, "max": "high"}}}
    async with home(tmp_path, clock, bad) as hub:
        assert [each.entity_id for each in hub.states.all("input_number")] == ["input_number.a"]
    async with home(tmp_path, clock, good) as hub:
        assert [each.state for each in hub.states.all("input_number")] == ["5.0", "5.0"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("input_number: {a: {min: 5, max: 5}}", "input_number.a.max: expected a number above min, got 5"),
        ("input_number: {a: {min: 5}}", "input_number.a.max: "),
        ("input_select: {a: {options: []}}", "input_select.a.options: "),
        (
            "input_select: {a: {options: [x], initial: y}}",
            "input_select.a.initial: expected one of the options",
        ),
        ("input_datetime: {a: }", "input_datetime.a.has_date: expected has_date: true, or has_time: true, or both"),
        ("input_datetime: {a: {has_time: true, initial: soon}}", "input_datetime.a.initial: expected a time such as"),
        ("input_text: {a: {pattern: '['}}", "input_text.a.pattern: expected a regular expression ("),
        ("timer: {a: {duration: long}}", "timer.a.duration: expected a duration such as"),
        ("counter: {a: {step: 0}}", "counter.a.step: "),
        ("counter: {A b: }", "expected a name of a-z, 0-9 and _, got 'A b'"),
        ("input_boolean: {a: {intial: true}}", "input_boolean.a.intial: "),
    ],
)
def test_errors_name_the_key_and_what_is_expected(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(text)

    found = check(tmp_path, Sections(core_sections()))

    assert error in "\n".join(map(str, found.errors))
