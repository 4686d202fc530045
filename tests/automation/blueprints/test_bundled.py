"""The blueprints that come with the program do what they say, in the real engine."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.definition.grammar import automation
from hub.security.egress import Egress
from tests.automation.blueprints.conftest import Shelf
from tests.automation.blueprints.house import House
from tests.security.web_servers import WebServer

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0

GIVEN: dict[str, dict[str, Any]] = {
    "battery_low": {"sensors": ["sensor.remote", "sensor.lock"]},
    "budget_guard": {},
    "follow_up": {"channel": "telegram", "peer": "42"},
    "heartbeat": {},
    "inbox_triage": {"channels": ["telegram"]},
    "memory_tidy": {},
    "morning_briefing": {},
    "person_home": {"who": ["person.ben"]},
    "reminder": {"text": "Call Ben", "at": "20m"},
    "watch_page": {"url": "https://example.com/"},
}


def path_of(name: str) -> str:
    return f"homarus/{name}.yaml"


def message(text: str, **more: Any) -> dict[str, Any]:
    return {
        "channel": "telegram",
        "account": "default",
        "peer": "42",
        "sender": "telegram:user:42",
        "sender_name": "Ben",
        "chat_type": "direct",
        "from_owner": False,
        "text": text,
        **more,
    }


async def begin(house: House, name: str, **inputs: Any) -> House:
    house.use(path_of(name), {**GIVEN[name], **inputs})
    await house.start()
    assert [each.error for each in house.automations.all()] == [None]
    return house


def test_each_is_described_and_has_a_case_here(shelf: Shelf) -> None:
    bundled = [each for each in shelf.blueprints.list() if each["bundled"]]

    assert [each["path"] for each in bundled] == [path_of(name) for name in sorted(GIVEN)]
    assert [each["errors"] for each in bundled] == [[]] * len(GIVEN)
    assert all(each["description"] and each["icon"] and each["author"] == "Homarus" for each in bundled)


@pytest.mark.parametrize("name", GIVEN)
def test_each_makes_an_automation_of_its_required_inputs_alone(shelf: Shelf, name: str) -> None:
    made = shelf.expand(GIVEN[name], path_of(name))

    assert made["triggers"]
    assert made["actions"]


@pytest.mark.parametrize("name", GIVEN)
def test_each_takes_its_own_defaults_as_values(shelf: Shelf, name: str) -> None:
    inputs = shelf.blueprints.find(path_of(name)).inputs
    defaults = {key: field.default for key, field in inputs.items() if not field.required}

    assert shelf.expand({**GIVEN[name], **defaults}, path_of(name)) == shelf.expand(GIVEN[name], path_of(name))


def test_they_are_found_without_saying_where(tmp_path: Any) -> None:
    found = Blueprints(tmp_path, Egress(frozenset)).expand(
        automation({"use_blueprint": {"path": path_of("reminder"), "input": GIVEN["reminder"]}})
    )

    assert found["delete_after_run"] is True


# --- what they do; the clock begins at 01:00 in Berlin, on a Thursday ---


async def test_the_heartbeat_comes_by_day_and_asks_first_whether_there_is_something(house: House) -> None:
    await begin(house, "heartbeat")

    by_night = await house.after(6.9 * HOUR)
    by_day = await house.after(0.7 * HOUR)
    house.is_due = False
    with_nothing = await house.after(2 * HOUR)

    assert by_night == with_nothing == []
    assert by_day == [
        (
            "agent.heartbeat",
            {"agent": "main", "target": "last", "session": "isolated", "ack_max_chars": 300, "checks": 5, "model": ""},
        )
    ]


async def test_the_heartbeat_may_have_a_model_of_its_own(house: House) -> None:
    await begin(house, "heartbeat", model="cheap/one", target={"channel": "telegram", "to": "1"}, start="00:00")

    ((_, data),) = await house.after(31 * MINUTE)

    assert data["model"] == "cheap/one"
    assert data["target"]["to"] == "1"


async def test_the_briefing_comes_in_the_morning_on_its_days(house: House) -> None:
    await begin(house, "morning_briefing", weekdays=["thu"], topics="The garden.")

    before = await house.after(6.4 * HOUR)
    ((service, data),) = await house.after(0.2 * HOUR)
    next_day = await house.after(DAY)

    assert before == next_day == []
    assert service == "agent.run"
    assert "Thursday, 01 January 2026" in data["message"]
    assert "The garden." in data["message"]
    assert (data["agent"], data["session"], data["announce"]) == ("main", "isolated", "last")


async def test_the_reminder_speaks_once_and_removes_itself(house: House) -> None:
    await begin(house, "reminder", people=["ben"])

    before = await house.after(19 * MINUTE)
    spoken = await house.after(2 * MINUTE)

    assert before == []
    assert spoken == [("notify.notify", {"title": "Reminder", "message": "Call Ben", "target": ["ben"], "data": {}})]
    assert house.deleted == ["x"]


async def test_the_words_of_a_reminder_are_no_template_of_another(house: House) -> None:
    await begin(house, "reminder", text="100 % sure: {not a template}")

    ((_, data),) = await house.after(21 * MINUTE)

    assert data["message"] == "100 % sure: {not a template}"


async def test_a_page_is_judged_when_its_words_changed(house: House, server: WebServer) -> None:
    house.egress_allowed = {server.target}
    server.page("/", "<p>Tickets: none", Content_Type="text/html")
    await begin(house, "watch_page", url=server.url("/"), interest="tickets")

    await house.advance(HOUR)
    await house.until(lambda: len(house.results) == 1)
    first = house.take()
    server.page("/", "<p>Tickets: <b>12</b>", Content_Type="text/html")
    await house.advance(HOUR)
    await house.until(lambda: len(house.results) == 2)
    ((service, data),) = house.take()

    assert first == []
    assert service == "agent.run"
    assert "-Tickets: none\n+Tickets: 12" in data["message"]
    assert "I wait for this: tickets" in data["message"]
    assert data["tools"] == "minimal"


async def test_nobody_answered_so_you_are_reminded_once(house: House) -> None:
    await begin(house, "follow_up", wait={"hours": 2})
    await house.hear(message("Can you come?"))
    await house.after(HOUR)
    await house.hear(message("Hello?"))

    too_early = await house.after(1.5 * HOUR)
    ((service, data),) = await house.after(HOUR)

    assert too_early == []
    assert service == "notify.notify"
    assert data["message"] == "Ben wrote on telegram and has no answer yet: “Hello?”"


async def test_an_answer_ends_the_waiting(house: House) -> None:
    await begin(house, "follow_up", wait={"hours": 2})
    await house.hear(message("Can you come?"))
    await house.after(HOUR)
    await house.hear(message("Yes", from_owner=True, sender="telegram:user:1"))

    assert await house.after(5 * HOUR) == []


async def test_the_waiting_for_an_answer_survives_a_restart(house: House) -> None:
    await begin(house, "follow_up", wait={"hours": 2})
    await house.hear(message("Can you come?"))
    await house.after(HOUR)
    await house.kill()

    await house.start()
    calls = await house.after(1.1 * HOUR)

    assert [service for service, _ in calls] == ["notify.notify"]


async def test_what_others_write_is_looked_through(house: House) -> None:
    await begin(house, "inbox_triage", urgent="Water in the cellar.", announce="none")
    house.fire("message_received", message("mine", from_owner=True))
    house.fire("message_received", message("elsewhere", channel="matrix"))
    house.fire("message_received", message("The cellar is wet!"))

    ((service, data),) = await house.after(1)

    assert service == "agent.run"
    assert "The cellar is wet!" in data["message"]
    assert "Water in the cellar." in data["message"]
    assert (data["tools"], data["announce"]) == ("minimal", "none")


async def test_no_more_than_so_many_messages_an_hour_are_looked_through(house: House) -> None:
    await begin(house, "inbox_triage", per_hour=3)
    for number in range(9):
        house.fire("message_received", message(str(number)))

    assert len(await house.after(1)) == 3


async def test_an_arrival_is_announced_after_a_real_absence(house: House) -> None:
    await begin(house, "person_home")
    house.state("person.ben", "home", friendly_name="Ben")
    house.state("person.ben", "not_home", friendly_name="Ben")
    await house.after(5 * MINUTE)
    house.state("person.ben", "home", friendly_name="Ben")
    short = await house.after(1)
    house.state("person.ben", "not_home", friendly_name="Ben")
    await house.after(20 * MINUTE)
    house.state("person.ben", "home", friendly_name="Ben")
    long = await house.after(1)
    house.state("person.ben", "unknown")
    await house.after(HOUR)
    house.state("person.ben", "home", friendly_name="Ben")

    assert (short, await house.after(1)) == ([], [])
    assert long == [("notify.notify", {"message": "Ben is home.", "target": [], "data": {}})]


async def test_a_low_battery_is_told_when_it_falls_and_each_evening(house: House) -> None:
    await begin(house, "battery_low")
    house.state("sensor.remote", "50", friendly_name="Remote")
    house.state("sensor.lock", "unknown")
    await house.after(1)
    house.state("sensor.remote", "19.6", friendly_name="Remote")

    at_once = await house.after(1)
    in_the_evening = await house.after(17 * HOUR + 1)
    house.state("sensor.remote", "100", friendly_name="Remote")
    replaced = await house.after(DAY)

    assert [data["message"] for _, data in at_once + in_the_evening] == ["Remote: 20 %"] * 2
    assert replaced == []


TIDY = ("memory.tidy", {"agent": "main", "cost_usd": 0.5, "dry_run": False})
SOMETHING = {
    "summary": "Kept 2 entries for good, 1 contradiction to be settled.",
    "contradictions": [
        {
            "older": {"text": "Anna's \"code\" is {{ 4711 }} {'a': 1}", "path": "MEMORY.md"},
            "newer": {"text": "安娜不吃肉", "path": "memory/2025-12-31.md"},
        }
    ],
    "problems": ["MEMORY.md is full."],
}


async def test_the_memory_is_tidied_at_night_and_nobody_hears_of_nothing(house: House) -> None:
    await begin(house, "memory_tidy", announce="last")

    assert await house.after(2.4 * HOUR) == []
    assert await house.after(0.2 * HOUR) == [TIDY]


async def test_what_was_tidied_is_kept_to_itself_unless_somebody_is_to_hear_of_it(house: House) -> None:
    house.tidied = SOMETHING
    await begin(house, "memory_tidy", cost_usd=2)

    assert await house.after(2.6 * HOUR) == [("memory.tidy", {**TIDY[1], "cost_usd": 2})]


@pytest.mark.parametrize(
    ("announce", "place"),
    [
        ("last", {"channel": "last", "agent": "main"}),
        ("telegram:42:7", {"channel": "telegram", "to": "42:7"}),
        ({"channel": "telegram", "to": "42"}, {"channel": "telegram", "to": "42"}),
    ],
)
async def test_what_was_tidied_and_what_is_to_be_settled_is_told_where_one_wants_to_hear_it(
    house: House, announce: Any, place: dict[str, Any]
) -> None:
    house.tidied = SOMETHING
    await begin(house, "memory_tidy", announce=announce)

    tidied, (service, data) = await house.after(2.6 * HOUR)

    assert (tidied, service) == (TIDY, "message.send")
    assert {key: data[key] for key in place} == place
    assert [line for line in data["text"].split("\n") if line] == [
        "Memory: Kept 2 entries for good, 1 contradiction to be settled.",
        "Which holds?",
        "- Anna's \"code\" is {{ 4711 }} {'a': 1} (MEMORY.md)",
        "- 安娜不吃肉 (memory/2025-12-31.md)",
        "MEMORY.md is full.",
    ]


async def test_a_night_on_which_the_hub_was_down_is_made_up_for(house: House) -> None:
    await begin(house, "memory_tidy")
    await house.after(HOUR)
    await house.stop()

    await house.start(at=house.at + 4 * HOUR)

    assert await house.after(60) == [TIDY]


async def test_above_the_limit_automations_rest_until_the_next_day(house: House) -> None:
    other = {"id": "busy", "alias": "Busy", "triggers": [], "actions": []}
    off = {**other, "id": "idle", "alias": "Idle", "initial_state": False}
    use = {
        "path": path_of("budget_guard"),
        "input": {"limit": 2, "automations": ["automation.busy", "automation.idle"]},
    }
    house.write(repr([other, off, {"id": "x", "use_blueprint": use}]).replace("False", "false"))
    await house.start()

    below = await house.after(HOUR)
    house.purse.dollars = 2.5
    ((service, data),) = await house.after(HOUR)
    more = await house.after(5 * HOUR)
    is_on = house.automations.get("busy").is_on
    house.purse.dollars = 0
    next_day = await house.after(17 * HOUR)

    assert below == more == next_day == []
    assert service == "notify.notify"
    assert "more than $2" in data["message"]
    assert "Turned off until tomorrow: automation.busy" in data["message"]
    assert is_on is False
    assert house.automations.get("busy").is_on is True
    assert house.automations.get("idle").is_on is False
