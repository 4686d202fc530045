from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.automation.editing.schedule_editor import PER_AGENT_LIMIT
from hub.automation.editing.schedule_request import (
    ScheduledAction,
    ScheduleRequest,
    at_trigger,
    cron_trigger,
    every_trigger,
)
from hub.core.errors import HubError, LimitExceeded, NotFound
from tests.automation.ground import BERLIN, NEW_YEAR
from tests.automation.rigged_schedule import ANNAS, FAMILY, FIRST, MAIN, Rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path / "home")
    await rig.open()
    yield rig
    await rig.close()


async def test_a_reminder_is_an_automation_in_the_users_file(rig: Rig) -> None:
    answer = await rig.told("add", at="20m", text="take the {{ cake }} out", name="Cake")

    added = answer["added"]
    assert added["next"] == "2026-01-01T01:20:00+01:00"
    assert added["next_in_words"] == "today at 01:20, in 20 min"
    text = rig.read()
    assert text.startswith(FIRST)
    assert "made_by: agent:main" in text or 'made_by: "agent:main"' in text
    assert rig.automations.get(added["id"]).config["templates"] is False
    assert rig.config.current.raw["automation"][1]["alias"] == "Cake"


async def test_a_reminder_is_said_in_its_conversation_and_removes_itself(rig: Rig) -> None:
    await rig.told("add", at="20m", text="take the {{ cake }} out")

    await rig.clock.advance(1_300)
    await _until(lambda: len(rig.automations.all()) == 1)

    assert rig.read() == FIRST
    assert [(call.service, dict(call.data)) for call in rig.calls] == [
        ("send", {"text": "take the {{ cake }} out", "channel": "webchat", "to": MAIN})
    ]
    assert rig.calls[0].context.authority.principal == "owner"
    assert await rig.told("list") == {"schedules": []}
    assert await _rows(rig) == []


async def test_what_repeats_stays(rig: Rig) -> None:
    await rig.told("add", every="2h", text="drink")

    await rig.clock.advance(3 * 7_200)

    assert len(rig.calls) == 3
    assert (await rig.told("list"))["schedules"][0]["schedule"] == "every 2h"


async def test_an_agent_does_something_later_and_its_answer_is_sent_here(rig: Rig) -> None:
    added = (await rig.told("add", cron="0 7 * * *", text="tell the news", do="run", model="test/model"))["added"]

    action = rig.config.current.raw["automation"][1]["actions"][0]
    assert action["action"] == "agent.run"
    assert action["data"] == {
        "message": "tell the news",
        "agent": "main",
        "session": "isolated",
        "name": added["id"],
        "model": "test/model",
        "announce": {"channel": "webchat", "to": MAIN},
    }
    assert added["next"] == "2026-01-01T07:00:00+01:00"


async def test_a_system_event_waits_for_the_agent(rig: Rig) -> None:
    await rig.told("add", at="18:00", text="look at the oven", do="event")

    assert rig.config.current.raw["automation"][1]["actions"][0]["data"] == {
        "text": "look at the oven",
        "agent": "main",
        "session": MAIN,
    }


async def test_it_is_changed_where_it_stands_and_comments_stay(rig: Rig) -> None:
    added = (await rig.told("add", at="20m", text="cake", name="Cake"))["added"]
    rig.write("automations.yaml", rig.read() + "# the end\n")
    await rig.reload()

    changed = (await rig.told("update", id=added["id"], at="2026-01-02 09:00", text="the cake"))["updated"]

    assert changed["next"] == "2026-01-02T09:00:00+01:00"
    assert changed["text"] == "the cake"
    assert rig.read().startswith(FIRST)
    assert rig.read().endswith("# the end\n")
    assert (await rig.told("update", id="Cake", enabled=False))["updated"]["enabled"] is False
    assert (await rig.told("update", id="Cake", enabled=True))["updated"]["next"] is not None


async def test_it_is_removed_and_run(rig: Rig) -> None:
    added = (await rig.told("add", at="20m", text="cake", delete_after_run=False))["added"]

    await rig.told("run", id=added["id"])
    await _until(lambda: len(rig.calls) == 1)
    await rig.told("remove", id=added["id"])

    assert rig.read() == FIRST
    assert await _rows(rig) == []


@pytest.mark.parametrize(
    ("root", "automations"),
    [
        ("hub: {name: Home}   # mine\n", None),
        ("hub: {name: Home}   # mine\n", "# none yet\n"),
        ("hub: {name: Home}   # mine\nautomation: !include automations.yaml\n", "# none yet\n"),
        ("hub: {name: Home}   # mine\nautomation: !include automations.yaml\n", "[]   # none yet\n"),
        ("hub: {name: Home}   # mine\nautomation: []\n", None),
        ("hub: {name: Home}   # mine\nautomation:\n", None),
    ],
)
async def test_a_home_without_automations_gets_its_first(tmp_path: Path, root: str, automations: str | None) -> None:
    rig = Rig(tmp_path / "home", root, automations)
    await rig.open()

    await rig.told("add", at="20m", text="first")
    await rig.told("add", at="30m", text="second")

    assert [each["text"] for each in (await rig.told("list"))["schedules"]] == ["first", "second"]
    assert rig.config.errors == []
    assert "# mine" in rig.read("configuration.yaml")
    await rig.close()


async def test_a_file_that_is_not_in_use_is_not_put_into_use(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "home", "hub: {name: Home}\n", FIRST)
    await rig.open()

    result = await rig.call("add", at="20m", text="x")

    assert result.is_error
    assert "not used" in result.output
    assert await _rows(rig) == []
    await rig.close()


async def test_each_sees_only_what_was_made_for_them(rig: Rig) -> None:
    mine = (await rig.told("add", at="20m", text="my own"))["added"]
    hers = (await rig.told("add", at="20m", text="hers", authority=rig.anna, within=ANNAS))["added"]

    assert [each["id"] for each in (await rig.told("list", authority=rig.anna))["schedules"]] == [hers["id"]]
    assert {each["id"] for each in (await rig.told("list"))["schedules"]} == {mine["id"], hers["id"]}
    assert (await rig.told("list", agent="other"))["schedules"] == []
    for action in ("remove", "run", "update"):
        assert (await rig.call(action, id=mine["id"], authority=rig.anna)).is_error
        assert (await rig.call(action, id=mine["id"], agent="other")).is_error
    assert (await rig.call("remove", id="mine")).is_error


async def test_it_acts_with_the_authority_of_who_asked_and_never_with_more(rig: Rig) -> None:
    hers = (await rig.told("add", at="20m", text="hers", authority=rig.anna, within=ANNAS))["added"]
    await rig.told("update", id=hers["id"], at="30m")

    await rig.clock.advance(2_000)
    await _until(lambda: len(rig.calls) == 1)

    authority = rig.calls[0].context.authority
    assert (authority.person, authority.owner, authority.scopes) == ("anna", False, frozenset())


async def test_what_is_scheduled_in_a_group_has_no_memory_of_who_asked(rig: Rig) -> None:
    await rig.heard(FAMILY)
    await rig.told("add", at="20m", text="what is planned", do="run", authority=rig.anna, within=FAMILY)
    await rig.told("add", at="20m", text="hers", do="run", authority=rig.anna, within=ANNAS)

    await rig.clock.advance(2_000)
    await _until(lambda: len(rig.calls) == 2)

    may = {
        call.data["message"]: all(
            policy.permits("memory_search", "memory") for policy in call.context.authority.tool_policies
        )
        for call in rig.calls
    }
    assert may == {"what is planned": False, "hers": True}


async def test_nobody_but_the_owner_reaches_the_main_conversation(rig: Rig) -> None:
    late: dict[str, Any] = {"at": "20m", "text": "x", "do": "run", "session": "main"}

    assert not (await rig.call("add", **late)).is_error
    assert (await rig.call("add", **late, authority=rig.anna, within=ANNAS)).is_error
    result = await rig.call("add", at="20m", text="x", authority=rig.anna, within="agent:main:cron:x")
    assert "Anna has not written yet" in result.output


async def test_what_is_asked_by_voice_comes_where_its_person_wrote_last(rig: Rig) -> None:
    await rig.heard(ANNAS)

    result = await rig.call("add", at="5m", text="tea", authority=rig.anna, within="agent:main:hook:wyoming%3A1")
    await rig.clock.advance(400)

    assert not result.is_error
    await _until(lambda: len(rig.calls) == 1)
    assert (rig.calls[0].data["to"], rig.calls[0].data["text"]) == (ANNAS.rpartition(":")[2], "tea")


async def test_a_turn_with_words_from_outside_schedules_nothing(rig: Rig) -> None:
    tainted = rig.owner.narrow(tainted=True)

    result = await rig.call("add", at="20m", text="x", authority=tainted)
    with pytest.raises(HubError):
        await rig.door.add(ScheduleRequest({"trigger": "at"}, ScheduledAction.REMIND, "x", "main"), rig.asker(tainted))

    assert result.is_error
    assert rig.read() == FIRST


async def test_what_a_person_changed_is_no_longer_the_agents(rig: Rig) -> None:
    added = (await rig.told("add", at="20m", text="cake"))["added"]
    rig.write("automations.yaml", rig.read().replace("text: cake", "text: bread"))
    await rig.reload()

    result = await rig.call("remove", id=added["id"])

    assert (await rig.told("list"))["schedules"][0]["changed_by_a_person"] is True
    assert "a person changed" in result.output


@pytest.mark.parametrize(("account", "written"), [("work", "account: work"), ("default", "")])
@pytest.mark.parametrize("do", ["remind", "run"])
async def test_a_schedule_with_the_id_of_its_account_gets_the_name(
    rig: Rig, account: str, written: str, do: str
) -> None:
    await rig.heard(FAMILY, "work")
    added = (await rig.told("add", at="20m", text="dinner", do=do, authority=rig.anna, within=FAMILY))["added"]
    await rig.as_written_before(added["id"], account_id="bot-1")
    await rig.db.write(lambda connection: connection.execute("UPDATE inbox SET account = ?", (account,)).rowcount)

    await rig.door.name_accounts()
    await rig.automations.apply(rig.config.current)

    text = rig.read()
    assert "bot-1" not in text
    assert ("account:" in text) is bool(written)
    assert written in text
    await rig.clock.advance(1_300)
    await _until(lambda: len(rig.calls) == 1)
    assert rig.calls[0].context.authority.person == "anna"  # it is still what the agent wrote


@pytest.mark.parametrize(
    "data",
    [
        '{message: hi, tools: [web_search], silent: true, announce: {channel: test, to: "5", account: bot-1}}',
        '{message: hi, timeout: "{{ 5 * 60 }}"}',
        "{message: hi, announce: {channel: [a], to: x, account: b}}",
    ],
)
async def test_what_a_person_wrote_is_left_as_it_is(tmp_path: Path, data: str) -> None:
    written = (
        "- id: hand\n  triggers: [{trigger: at, at: '2099-01-01T00:00:00+00:00'}]\n"
        f"  actions: [{{action: agent.run, enabled: false, data: {data}}}]\n"
    )
    rig = Rig(tmp_path / "home", automations=written)
    await rig.open()
    await rig.heard(FAMILY, "work")  # its platform calls it bot-1

    await rig.door.name_accounts()

    assert rig.read() == written
    await rig.close()


async def test_the_name_of_an_account_is_no_id_of_another(rig: Rig) -> None:
    await rig.heard(ANNAS, "work")
    await rig.told("add", at="20m", text="tea", authority=rig.anna, within=ANNAS)
    await rig.db.write(
        lambda connection: connection.execute("UPDATE inbox SET account = 'default', account_id = 'work'").rowcount
    )

    await rig.door.name_accounts()

    assert "account: work" in rig.read()


async def test_another_conversation_cannot_be_written_to(rig: Rig) -> None:
    trigger = at_trigger("20m", NEW_YEAR, BERLIN)
    request = ScheduleRequest(trigger, ScheduledAction.REMIND, "x", "main", address={"channel": "test", "to": "99"})

    with pytest.raises(HubError, match="only to its own conversation"):
        await rig.door.add(request, rig.asker())
    with pytest.raises(HubError):
        await rig.door.add(replace(request, address="last", agent_id="other"), rig.asker())
    with pytest.raises(HubError):
        await rig.door.add(
            replace(request, do=ScheduledAction.RUN, address="last", session="agent:main:test:direct:8"), rig.asker()
        )


async def test_there_is_a_bound_for_each_agent(rig: Rig) -> None:
    items = "".join(
        f"- {{id: s{n}, triggers: [], actions: [], made_by: 'agent:main', templates: false}}\n"
        for n in range(PER_AGENT_LIMIT)
    )
    rig.write("automations.yaml", items)
    await rig.reload()

    with pytest.raises(LimitExceeded):
        await rig.door.add(
            ScheduleRequest(at_trigger("20m", NEW_YEAR, BERLIN), ScheduledAction.REMIND, "x", "main"), rig.asker()
        )


async def test_many_at_once_lose_none(rig: Rig) -> None:
    await asyncio.gather(*(rig.told("add", at="20m", text=f"number {n}") for n in range(8)))

    assert len((await rig.told("list"))["schedules"]) == 8


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x"},
        {"at": "20m"},
        {"at": "yesterday", "text": "x"},
        {"at": "2020-01-01 10:00", "text": "x"},
        {"at": "2300-01-01 10:00", "text": "x"},
        {"at": "20m", "every": "2h", "text": "x"},
        {"every": "30s", "text": "x"},
        {"every": "soon", "text": "x"},
        {"cron": "every day", "text": "x"},
        {"cron": "99 * * * *", "text": "x"},
        {"cron": "0 7 * * *", "time_zone": "Mars/Olympus", "text": "x"},
        {"at": "20m", "text": " "},
        {"at": "20m", "text": "x" * 9_000},
        {"at": "20m", "text": "x", "do": "explode"},
        {"at": "20m", "text": "x", "unknown": 1},
    ],
)
async def test_what_is_out_of_bounds_is_refused_and_nothing_is_written(rig: Rig, arguments: dict[str, Any]) -> None:
    result = await rig.call("add", **arguments)

    assert result.is_error
    assert rig.read() == FIRST
    assert await _rows(rig) == []


async def test_an_id_that_is_not_there_names_those_that_are(rig: Rig) -> None:
    added = (await rig.told("add", at="20m", text="cake"))["added"]

    result = await rig.call("remove", id="nothing")

    assert added["id"] in result.output
    assert (await rig.call("remove")).is_error
    with pytest.raises(NotFound):
        await rig.door.get("nothing", rig.asker(agent=None))


async def test_text_of_any_kind_comes_back_as_it_was(rig: Rig) -> None:
    for text in (
        '"quotes" & #hash',
        "- a\n- b: c",
        "{{ now() }} {% raw %}",
        "!secret token",
        "日本語 🦞",
        "yes",
        "0123",
    ):
        added = (await rig.told("add", at="20m", text=text))["added"]
        assert added["text"] == text
        assert (await rig.told("list"))["schedules"][-1].get("changed_by_a_person") is None


async def test_a_person_sees_and_changes_everything(rig: Rig) -> None:
    await rig.told("add", at="20m", text="hers", authority=rig.anna, within=ANNAS)
    person = rig.asker(agent=None)

    added = await rig.door.add(
        ScheduleRequest(every_trigger("1h", NEW_YEAR, BERLIN), ScheduledAction.RUN, "look", "main"), person
    )

    assert added.made_by is None
    assert [each.request.text for each in await rig.door.list(person)] == ["hers", "look"]
    await rig.door.update(added.id, lambda request: replace(request, trigger=cron_trigger("0 8 * * *", "UTC")), person)
    assert (await rig.door.get(added.id, person)).next_due == NEW_YEAR + 8 * 3_600


async def _rows(rig: Rig) -> list[Any]:
    return await rig.db.read(lambda connection: connection.execute("SELECT id FROM automation_authority").fetchall())


async def _until(holds: Any) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  another task's doing
            await asyncio.sleep(0.005)


async def test_what_a_person_schedules_for_nowhere_is_refused(rig: Rig) -> None:
    request = ScheduleRequest(at_trigger("20m", NEW_YEAR, BERLIN), ScheduledAction.REMIND, "x", "main")
    person = rig.asker(agent=None)

    for address in ({"channel": "tset", "to": "7"}, {"channel": "test", "to": "7", "account": "wrok"}):
        with pytest.raises(NotFound, match=r"did you mean (test|work)"):
            await rig.door.add(replace(request, address=address), person)

    assert rig.read() == FIRST
    assert (await rig.door.add(replace(request, address={"channel": "test", "to": "7"}), person)).request.name == "x"
