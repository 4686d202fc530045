"""The methods about automations, events, services, states, templates and scripts, over the wire."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from hub.automation.engine.own_events import OWN_EVENTS, TRIED_EVENTS
from hub.core.events import Event
from tests.gateway.rig import Client, connected
from tests.hub_fixture import HubFixture
from tests.until import until

WRITE = ("operator.write",)


async def ok(client: Client, method: str, params: dict[str, Any] | None = None) -> Any:
    answer = await client.call(method, params or {})
    assert answer["ok"], answer
    return answer["payload"]


async def refused(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call(method, params)
    assert not answer["ok"], answer
    error: dict[str, Any] = answer["error"]
    return error


async def traces_of(client: Client, id: str, count: int) -> list[dict[str, Any]]:
    """The finished runs of an automation, once there are so many."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        found = (await ok(client, "automation.trace", {"id": id}))["traces"]
        found = [each for each in found if each["finished"]]
    return found


async def test_the_list_says_what_scripts_rely_on(house: HubFixture) -> None:
    async with connected(house) as client:
        listed = (await ok(client, "automation.list"))["automations"]

    assert [each["id"] for each in listed] == ["bell", "never", "hook"]
    assert {"id", "alias", "state", "mode", "current", "last_triggered", "next_run", "error"} <= listed[0].keys()
    assert (listed[0]["state"], listed[0]["location"]["file"]) == ("on", "automations.yaml")


async def test_an_event_sets_an_automation_off_and_the_trace_says_so(house: HubFixture) -> None:
    async with connected(house) as client:
        await ok(client, "event.fire", {"type": "bell_pressed", "data": {"door": "back"}})
        (trace,) = await traces_of(client, "Bell", 1)
        same = await ok(client, "automation.trace.get", {"run_id": trace["run_id"]})
        entries = (await ok(client, "automation.not_run", {"id": "never"}))["entries"]
        history = (await ok(client, "automation.history"))["runs"]

    assert trace["outcome"] == "finished"
    assert trace["steps"]["action/0"][0]["result"]["event_data"] == {"door": "back"}
    assert same["run_id"] == trace["run_id"]
    assert [(each["automation_id"], each["reason"]) for each in entries] == [("never", "conditions")]
    assert [each["run_id"] for each in history] == [trace["run_id"]]


async def test_it_runs_by_hand_once_per_key(house: HubFixture) -> None:
    async with connected(house) as client:
        params = {"id": "automation.bell", "variables": {"x": 1}, "idempotencyKey": "k1"}
        first, second = await ok(client, "automation.trigger", params), await ok(client, "automation.trigger", params)
        (trace,) = await traces_of(client, "bell", 1)
        held_back = await ok(client, "automation.trigger", {"id": "never", "skip_conditions": False})

    assert first == second
    assert first["run_id"] == trace["run_id"]
    assert (held_back["run_id"], held_back["reason"]) == (None, "conditions")


async def test_it_is_turned_off_and_on(house: HubFixture) -> None:
    async with connected(house) as client:
        off = await ok(client, "automation.off", {"id": "bell"})
        on = await ok(client, "automation.on", {"id": "bell"})
        not_paused = await refused(client, "automation.resume", {"id": "bell"})
        missing = await refused(client, "automation.on", {"id": "bel"})

    assert (off["state"], on["state"]) == ("off", "on")
    assert not_paused["code"] == "CONFLICT"
    assert missing["code"] == "NOT_FOUND"


async def test_a_trace_goes_out_and_comes_in_again(house: HubFixture) -> None:
    async with connected(house) as client:
        await ok(client, "automation.trigger", {"id": "bell"})
        (trace,) = await traces_of(client, "bell", 1)
        exported = await ok(client, "automation.trace.export", {"run_id": trace["run_id"]})
        imported = await ok(client, "automation.trace.import", {"trace": exported})
        shown = await ok(client, "automation.trace.get", {"run_id": imported["run_id"]})
        nonsense = await refused(client, "automation.trace.import", {"trace": {"homarus_trace": 1, "trace": {}}})

    assert shown["imported"] is True
    assert shown["steps"] == trace["steps"]
    assert nonsense["code"] == "INVALID_REQUEST"


async def test_trying_does_nothing(house: HubFixture) -> None:
    heard: list[str] = []
    house.bus.listen("bell_heard", lambda event: heard.append(event.type))
    async with connected(house) as client:
        told = await ok(client, "automation.test", {"id": "bell", "trigger": "0", "at": "2026-05-01T07:00"})
        known = {"event": {"data": {"door": "side"}}}
        given = await ok(client, "automation.test", {"id": "bell", "trigger": known})
        never = await ok(client, "automation.test", {"id": "never"})
        explained = await ok(client, "automation.explain", {"id": "bell"})
        wrong = await refused(client, "automation.test", {"id": "bell", "at": "soon"})

    assert told["would_run"] is True
    assert told["calls"] == [{"path": "action/0", "service": "event.bell_heard", "data": {"door": "front"}}]
    assert given["calls"][0]["data"] == {"door": "side"}
    assert (never["would_run"], never["calls"]) == (False, [])
    assert "bell_pressed" in explained["text"]
    assert "at:" in wrong["message"]
    assert heard == []


async def test_a_backtest_reads_the_past(house: HubFixture) -> None:
    async with connected(house) as client:
        told = await ok(client, "automation.backtest", {"id": "bell", "since": "7d"})
        backwards = await refused(client, "automation.backtest", {"id": "bell", "since": "1h", "until": "2h"})
        too_long = await refused(client, "automation.backtest", {"id": "bell", "since": "400d"})

    assert told["runs"] == []
    assert backwards["code"] == too_long["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize("type", [*sorted(OWN_EVENTS), "run_started", "hub_started", "automation_triggered"])
async def test_nobody_makes_up_an_event_of_the_hub(house: HubFixture, type: str) -> None:
    async with connected(house) as client:
        error = await refused(client, "event.fire", {"type": type})

    assert error["code"] == "INVALID_REQUEST"
    assert type in error["message"]


async def test_only_an_owner_tries_what_automations_alone_act_on(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    _, secret = await house.tokens.create("writer", WRITE)
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    async with connected(house) as client:
        for type in sorted(TRIED_EVENTS):
            await ok(client, "event.fire", {"type": type})
            body = {"method": "event.fire", "params": {"type": type}}
            async with http.post(f"{house.url}/api/rpc", json=body, headers=headers) as answer:
                assert answer.status == 400, type


@pytest.mark.parametrize("params", [{"type": "*"}, {"type": "a b"}, {"type": "x", "data": []}, {"type": "x" * 200}])
async def test_an_event_has_a_type_and_data(house: HubFixture, params: dict[str, Any]) -> None:
    async with connected(house) as client:
        error = await refused(client, "event.fire", params)

    assert error["code"] == "INVALID_REQUEST"


async def test_services_are_listed_and_called(house: HubFixture) -> None:
    async with connected(house) as client:
        listed = {each["service"]: each for each in (await ok(client, "service.list"))["services"]}
        data = {"message": "Tea is ready", "title": "Tea"}
        made = await ok(client, "service.call", {"service": "persistent_notification.create", "data": data})
        wrong = await refused(client, "service.call", {"service": "persistent_notification.create", "data": {"x": 1}})
        missing = await refused(client, "service.call", {"service": "persistent_notification.creat"})

    assert {"agent.run", "message.send", "script.greet", "automation.trigger", "hub.check"} <= listed.keys()
    assert listed["agent.run"]["fields"]["message"]["required"] is True
    assert made["response"].keys() == {"notification_id"}
    assert "message" in wrong["message"]
    assert "did you mean persistent_notification.create?" in missing["message"]


async def test_what_is_about_the_hub_itself_needs_an_administrator(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    _, secret = await house.tokens.create("writer", WRITE)
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    for service in ("hub.stop", "hub.restart", "hub.reload", "hub.check", "automation.reload"):
        body = {"method": "service.call", "params": {"service": service}}
        async with http.post(f"{house.url}/api/rpc", json=body, headers=headers) as answer:
            assert answer.status == 403, service


async def test_a_state_says_who_set_it(house: HubFixture) -> None:
    async with connected(house) as client:
        made = await ok(client, "state.set", {"entity_id": "light.kitchen", "state": "on", "attributes": {"lux": 3}})
        kept = await ok(client, "state.set", {"entity_id": "light.kitchen", "state": "off"})
        got = await ok(client, "state.get", {"entity_id": "light.kitchen"})
        listed = (await ok(client, "state.list", {"domain": "light"}))["states"]
        removed = await ok(client, "state.remove", {"entity_id": "light.kitchen"})
        gone = await refused(client, "state.get", {"entity_id": "light.kitchen"})
        own = await refused(client, "state.set", {"entity_id": "automation.bell", "state": "off"})

    assert made["attributes"] == {"lux": 3, "set_by": "owner"}
    assert kept["attributes"] == made["attributes"]
    assert (got["state"], listed) == ("off", [got])
    assert removed["removed"] is True
    assert gone["code"] == "NOT_FOUND"
    assert own["code"] == "FORBIDDEN"


async def test_a_template_is_rendered_as_what_it_stands_for(house: HubFixture) -> None:
    async with connected(house) as client:
        number = await ok(client, "template.render", {"template": "{{ 6 * x }}", "variables": {"x": 7}})
        large = await ok(client, "template.render", {"template": "{{ 2 ** 100 }}"})
        state = await ok(client, "template.render", {"template": "{{ states('automation.bell') }}"})
        listed = await ok(client, "template.render", {"template": "{{ [1, 'a', none] }}"})
        wrong = await refused(client, "template.render", {"template": "{{ 1 +\n }}"})

    assert number == {"result": 42, "type": "int"}
    assert large["result"] == str(2**100)
    assert (state["result"], listed["result"]) == ("on", [1, "a", None])
    assert wrong["code"] == "TEMPLATE_FAILED"


async def test_a_script_is_told_in_plain_words(house: HubFixture) -> None:
    async with connected(house) as client:
        told = await ok(client, "automation.explain", {"id": "script.greet"})
        wrong = await refused(client, "automation.explain", {"id": "script.nothing"})

    assert told["id"] == "script.greet"
    assert "Its fields are who." in told["text"]
    assert wrong["code"] == "NOT_FOUND"


async def test_a_script_is_listed_and_run(house: HubFixture) -> None:
    async with connected(house) as client:
        (listed,) = (await ok(client, "script.list"))["scripts"]
        ran = await ok(client, "script.run", {"id": "script.greet", "data": {"who": "Anna"}})
        begun = await ok(client, "script.run", {"id": "greet", "data": {"who": "Ben"}, "wait": False})
        without = await refused(client, "script.run", {"id": "greet"})
        traces = await traces_of(client, "script.greet", 2)
        stopped = await ok(client, "script.stop", {"id": "greet"})

    assert (listed["id"], listed["alias"], listed["state"]) == ("greet", "Greet", "off")
    assert ran == {"id": "greet", "response": {}}
    assert begun["response"] is None
    assert "who" in without["message"]
    assert {trace["automation_id"] for trace in traces} == {"script.greet"}
    assert stopped["current"] == 0


async def test_clients_are_told_what_automations_do(house: HubFixture) -> None:
    async with connected(house) as client:
        await ok(client, "event.fire", {"type": "bell_pressed"})
        triggered = await client.event("automation", lambda told: told["phase"] == "triggered")
        finished = await client.event("automation", lambda told: told["phase"] == "finished")

    assert triggered["payload"]["automation_id"] == finished["payload"]["automation_id"] == "bell"
    assert finished["payload"]["outcome"] == "finished"


async def test_blueprints_are_shown_and_used(house: HubFixture) -> None:
    text = (
        "blueprint:\n  name: Ring\n  domain: automation\n  input:\n    door: {name: Door}\n"
        "triggers:\n  - trigger: event\n    event_type: bell_pressed\n"
        "actions:\n  - event: rung\n    event_data: {door: !input door}\n"
    )
    async with connected(house) as client:
        preview = await ok(client, "blueprint.import", {"text": text, "path": "mine/ring.yaml", "preview": True})
        await ok(client, "blueprint.import", {"text": text, "path": "mine/ring.yaml"})
        again = await refused(client, "blueprint.import", {"text": text, "path": "mine/ring.yaml"})
        missing = await refused(client, "blueprint.use", {"path": "mine/ring.yaml", "input": {}})
        used = await ok(client, "blueprint.use", {"path": "mine/ring.yaml", "input": {"door": "front"}})
        shown = await ok(client, "blueprint.get", {"path": "mine/ring.yaml"})
        in_use = await refused(client, "blueprint.remove", {"path": "mine/ring.yaml"})
        await until(lambda: any(each.id == "ring" for each in house.automation.automations.all()))
        await ok(client, "automation.delete", {"id": used["id"]})
        removed = await ok(client, "blueprint.remove", {"path": "mine/ring.yaml"})
        neither = await refused(client, "blueprint.import", {})

    assert (preview["name"], preview["exists"]) == ("Ring", False)
    assert again["code"] == in_use["code"] == "CONFLICT"
    assert "door" in missing["message"]
    assert used["id"] == "ring"
    assert [each["id"] for each in shown["in_use"]] == ["ring"]
    assert removed["removed"] is True
    assert "either url or text" in neither["message"]


async def test_what_somebody_else_brings_in_taints_the_run_that_is_the_owners(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    seen: list[tuple[str, bool, bool]] = []

    def note(event: Event) -> None:
        seen.append((event.type, event.context.authority.owner, event.context.authority.tainted))

    house.bus.listen("bell_heard", note)
    _, secret = await house.tokens.create("writer", WRITE)
    headers = {"Authorization": f"Bearer {secret.reveal()}"}
    params = {"type": "bell_pressed", "data": {"door": "back"}}
    async with http.post(f"{house.url}/api/rpc", json={"method": "event.fire", "params": params}, headers=headers) as a:
        assert a.status == 200
    await until(lambda: len(seen) == 1)
    async with connected(house) as client:
        await ok(client, "event.fire", params)
    await until(lambda: len(seen) == 2)

    assert seen == [("bell_heard", True, True), ("bell_heard", True, False)]
