"""Scripts: services made of actions, with fields, modes, answers and their traces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from hub.automation.definition.grammar import script as script_form
from hub.automation.engine.script import DEPTH_LIMIT, ScriptEnvironment
from hub.automation.engine.scripts import ScriptFailed, Scripts
from hub.automation.running.waiting import WaitingRuns
from hub.automation.tracing.trace_store import TraceStore
from hub.config.check import check
from hub.config.checked import Config
from hub.core.context import SYSTEM, Authority, Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.services import AgentRule
from hub.sections import all_sections
from hub.security.redaction import Redactor
from hub.template.engine import TemplateEngine
from tests.automation.actions.bench import Bench
from tests.automation.dying import memory_database
from tests.automation.ground import BERLIN, make_parts
from tests.until import until

ON = {"action": "light.turn_on"}


class Home:
    """Scripts on a bench, configured with plain data."""

    def __init__(self, home: Path, bench: Bench | None = None, waiting: WaitingRuns | None = None) -> None:
        self.home = home
        self.bench = bench or Bench()
        parts = self.bench.parts
        self.traces = TraceStore(None, Redactor(), parts.clock.time, lambda: BERLIN)
        self.scripts = Scripts(ScriptEnvironment(parts, {}, self.traces, waiting), lambda item: script_form(dict(item)))

    def config(self, **scripts: Any) -> Config:
        (self.home / "configuration.yaml").write_bytes(orjson.dumps({"script": scripts}))
        return check(self.home, all_sections()).config

    async def open(self, **scripts: Any) -> None:
        await self.scripts.open(self.config(**scripts))

    async def apply(self, **scripts: Any) -> list[str]:
        return await self.scripts.apply(self.config(**scripts))

    async def call(self, name: str, data: dict[str, Any] | None = None, *, answer: bool = False) -> Any:
        domain, _, service = name.partition(".")
        return await self.bench.parts.services.call(
            domain, service, data, context=Context(SYSTEM), wants_response=answer
        )

    def state(self, key: str) -> str | None:
        state = self.bench.parts.states.get(f"script.{key}")
        return None if state is None else state.state


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_script_is_a_service_that_waits_for_its_end(home: Home) -> None:
    await home.open(hello={"alias": "Hello", "sequence": [{"delay": 5}, ON]})
    task = asyncio.ensure_future(home.call("script.hello"))

    await home.bench.advance(4)
    assert home.state("hello") == "on"
    await home.bench.advance(1)
    await task
    await home.bench.advance()

    assert home.state("hello") == "off"
    assert home.bench.called == ["light.turn_on"]
    (trace,) = await home.traces.list("script.hello")
    assert list(trace["steps"]) == ["sequence/0", "sequence/1"]


async def test_what_it_is_given_becomes_variables(home: Home) -> None:
    fields = {"who": {"required": True}, "level": {"default": 3}, "note": None}
    step = {
        **ON,
        "data": {"who": "{{ who }}", "level": "{{ level | default(7) }}", "more": "{{ more }}", "own": "{{ own }}"},
    }
    await home.open(hello={"fields": fields, "variables": {"own": "{{ who }}!", "more": "no"}, "sequence": step})

    await home.call("script.hello", {"who": "anna", "more": "yes"})

    assert home.bench.calls == [("light.turn_on", {"who": "anna", "level": 7, "more": "yes", "own": "anna!"})]


async def test_a_required_field_that_is_missing_is_refused(home: Home) -> None:
    await home.open(hello={"fields": {"who": {"required": True}}, "sequence": ON})

    with pytest.raises(InvalidRequest, match="who"):
        await home.call("script.hello")
    with pytest.raises(InvalidRequest, match="who"):
        await home.call("script.turn_on", {"entity_id": "script.hello"})


@pytest.mark.parametrize(
    ("value", "answer"), [({"a": 1}, {"a": 1}), ([1], {"response": [1]}), ("text", {"response": "text"})]
)
async def test_it_answers_what_its_stop_says(home: Home, value: Any, answer: dict[str, Any]) -> None:
    await home.open(ask={"sequence": [{"variables": {"x": value}}, {"stop": "done", "response_variable": "x"}]})

    assert await home.call("script.ask", answer=True) == answer


async def test_another_script_uses_its_answer_and_names_it_in_its_trace(home: Home) -> None:
    await home.open(
        ask={"sequence": [{"variables": {"x": {"n": 5}}}, {"stop": "done", "response_variable": "x"}]},
        use={"sequence": [{"action": "script.ask", "response_variable": "it"}, {**ON, "data": {"n": "{{ it.n }}"}}]},
    )

    await home.call("script.use")
    await home.bench.advance()

    assert home.bench.calls == [("light.turn_on", {"n": 5})]
    (outer,), (inner,) = await home.traces.list("script.use"), await home.traces.list("script.ask")
    assert outer["steps"]["sequence/0"][0]["child"] == {"run_id": inner["run_id"], "automation_id": "script.ask"}


async def test_who_calls_a_script_that_fails_is_told(home: Home) -> None:
    await home.open(bad={"sequence": [{"action": "test.fail"}]})

    with pytest.raises(ScriptFailed, match=r"script.bad failed: sequence/0: it is out of order"):
        await home.call("script.bad")


async def test_it_runs_with_the_rights_of_who_calls(home: Home) -> None:
    await home.open(hello={"sequence": ON})
    caller = Context(SYSTEM.narrow(tainted=True))

    await home.bench.parts.services.call("script", "hello", context=caller)

    assert home.bench.contexts[0].parent_id == caller.id
    assert home.bench.contexts[0].authority.tainted


async def test_turn_on_does_not_wait_and_turn_off_ends(home: Home) -> None:
    await home.open(slow={"sequence": [{"delay": 60}, {**ON, "data": {"x": "{{ x }}"}}]})

    await home.call("script.turn_on", {"entity_id": "script.slow", "variables": {"x": 1}})
    await home.bench.advance(1)
    assert home.state("slow") == "on"
    await home.call("script.turn_off", {"entity_id": ["script.slow"]})
    await home.bench.advance(60)

    assert home.state("slow") == "off"
    assert home.bench.calls == []


async def test_toggle_begins_and_ends(home: Home) -> None:
    await home.open(slow={"sequence": [{"delay": 60}]})

    await home.call("script.toggle", {"entity_id": "script.slow"})
    assert home.state("slow") == "on"
    await home.call("script.toggle", {"entity_id": "script.slow"})
    await home.bench.advance()

    assert home.state("slow") == "off"


async def test_an_unknown_script_is_named(home: Home) -> None:
    await home.open()

    with pytest.raises(NotFound, match=r"script.nothing"):
        await home.call("script.turn_on", {"entity_id": "script.nothing"})


async def test_single_refuses_and_tells_why(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    await home.open(slow={"sequence": [{"delay": 60}, ON]})
    await home.call("script.turn_on", {"entity_id": "script.slow"})

    assert await home.call("script.slow", answer=True) == {}

    assert "script slow was called and did not run: it is already running" in caplog.text
    (entry,) = await home.traces.not_run("script.slow")
    assert entry["reason"] == "mode"


async def test_restart_ends_the_run_before(home: Home) -> None:
    await home.open(slow={"mode": "restart", "sequence": [{"delay": 60}, {**ON, "data": {"n": "{{ n }}"}}]})

    for n in (1, 2):
        await home.call("script.turn_on", {"entity_id": "script.slow", "variables": {"n": n}})
        await home.bench.advance(30)
    await home.bench.advance(30)

    assert home.bench.calls == [("light.turn_on", {"n": 2})]


async def test_restart_at_once_ends_the_run_that_has_not_begun(home: Home) -> None:
    await home.open(slow={"mode": "restart", "sequence": [{**ON, "data": {"n": "{{ n }}"}}]})

    told = [{"entity_id": "script.slow", "variables": {"n": n}} for n in (1, 2, 3)]
    await asyncio.gather(*(home.call("script.turn_on", each) for each in told))
    await home.bench.advance()

    assert home.bench.calls == [("light.turn_on", {"n": 3})]
    assert home.state("slow") == "off"


async def test_queued_runs_go_one_after_the_other(home: Home) -> None:
    await home.open(slow={"mode": "queued", "max": 2, "sequence": [{"delay": 10}, {**ON, "data": {"n": "{{ n }}"}}]})

    for n in (1, 2, 3):
        await home.call("script.turn_on", {"entity_id": "script.slow", "variables": {"n": n}})
    await home.bench.advance(10)
    assert [data["n"] for _, data in home.bench.calls] == [1]
    await home.bench.advance(10)

    assert [data["n"] for _, data in home.bench.calls] == [1, 2]


async def test_parallel_runs_go_together_up_to_max(home: Home) -> None:
    await home.open(slow={"mode": "parallel", "max": 2, "max_exceeded": "silent", "sequence": [{"delay": 10}, ON]})

    for _ in range(3):
        await home.call("script.turn_on", {"entity_id": "script.slow"})
    await home.bench.advance(10)

    assert home.bench.called == ["light.turn_on"] * 2


async def test_scripts_that_call_each_other_without_end_are_ended(home: Home) -> None:
    await home.open(
        ping={"mode": "parallel", "max": 100, "sequence": [ON, {"action": "script.pong"}]},
        pong={"mode": "parallel", "max": 100, "sequence": [ON, {"action": "script.ping"}]},
    )

    with pytest.raises(ScriptFailed, match=f"more than {DEPTH_LIMIT} deep: ping → pong"):
        await home.call("script.ping")

    assert len(home.bench.calls) == DEPTH_LIMIT


@pytest.mark.parametrize("mode", ["queued", "restart"])
async def test_a_script_that_would_wait_for_itself_is_told(home: Home, mode: str) -> None:
    await home.open(me={"mode": mode, "sequence": [{"action": "script.me"}]})

    with pytest.raises(ScriptFailed, match=r"script.me calls itself"):
        await home.call("script.me")


async def test_ending_the_call_ends_the_script(home: Home) -> None:
    await home.open(slow={"sequence": [{"delay": 60}, ON]})
    call = asyncio.ensure_future(home.call("script.slow"))
    await home.bench.advance(1)

    call.cancel()
    await home.bench.advance(60)

    assert home.state("slow") == "off"
    assert home.bench.calls == []


async def test_a_reload_touches_only_what_changed(home: Home) -> None:
    slow = {"sequence": [{"delay": 60}, ON]}
    await home.open(slow=slow, other={"sequence": ON}, gone={"sequence": ON})
    await home.call("script.turn_on", {"entity_id": "script.slow"})

    changed = await home.apply(slow=slow, other={"sequence": [ON, ON]}, new={"sequence": ON})
    await home.bench.advance(60)

    assert sorted(changed) == ["gone", "new", "other"]
    assert home.bench.called == ["light.turn_on"]
    assert home.state("gone") is None
    assert home.bench.parts.services.get("script", "gone") is None
    await home.call("script.other")
    assert len(home.bench.calls) == 3


async def test_a_changed_script_ends_its_runs(home: Home) -> None:
    await home.open(slow={"sequence": [{"delay": 60}, ON]})
    await home.call("script.turn_on", {"entity_id": "script.slow"})
    await home.bench.advance(1)

    await home.apply(slow={"sequence": [ON]})
    await home.bench.advance(60)

    assert home.bench.calls == []
    (trace,) = await home.traces.list("script.slow")
    assert (trace["outcome"], trace["error"]) == ("cancelled", "its definition was changed")


async def test_a_broken_script_is_unavailable_and_others_run(home: Home) -> None:
    await home.open(bad={"sequence": [{"nonsense": 1}]}, good={"sequence": ON})

    assert home.state("bad") == "unavailable"
    assert "sequence" in home.scripts.broken()["bad"]
    await home.call("script.good")
    assert home.bench.called == ["light.turn_on"]

    await home.apply(bad={"sequence": ON}, good={"sequence": ON})
    assert home.state("bad") == "off"
    assert home.scripts.broken() == {}


async def test_a_script_may_not_take_the_name_of_a_service(home: Home) -> None:
    await home.open(toggle={"sequence": ON})

    assert home.state("toggle") == "unavailable"
    assert [repair.id for repair in home.bench.parts.repairs.all()] == ["toggle"]


@pytest.mark.parametrize(("expose", "rule"), [(True, AgentRule.ALLOW), (False, AgentRule.NEVER)])
async def test_an_agent_may_call_only_what_is_exposed(home: Home, expose: bool, rule: AgentRule) -> None:
    await home.open(hello={"description": "Says hello.", "expose": expose, "fields": {"who": {}}, "sequence": ON})

    service = home.bench.parts.services.get("script", "hello")

    assert service is not None
    assert service.agent is rule
    assert service.description == "Says hello."
    assert set(service.fields) == {"who"}


@pytest.mark.parametrize(("owner", "answer"), [(True, {"found": 2}), (False, None)])
async def test_templates_see_conversations_for_the_owner_only(
    tmp_path: Path, owner: bool, answer: dict[str, Any] | None
) -> None:
    plain = make_parts()
    seeing = TemplateEngine(plain.states, plain.clock, lambda: BERLIN, {"sessions": lambda: ["one", "two"]})
    home = Home(tmp_path, Bench(replace(plain, templates=seeing)))
    count = [{"variables": {"n": {"found": "{{ sessions() | count }}"}}}, {"stop": "", "response_variable": "n"}]
    await home.open(count={"expose": True, "sequence": count})
    context = Context(Authority("peer:x", person="ben", owner=owner))

    called = home.bench.parts.services.call("script", "count", {}, context=context, wants_response=True)

    if answer is None:
        with pytest.raises(ScriptFailed, match="sessions"):
            await called
        return
    assert await called == answer


@pytest.mark.parametrize(("later", "called"), [([{"delay": 600}, ON], 1), ([{"delay": 600}, ON, ON], 0)])
async def test_a_script_goes_on_after_a_restart(tmp_path: Path, later: Any, called: int) -> None:
    db = memory_database()
    first = Home(tmp_path, waiting=WaitingRuns(db, lambda: 0.0))
    await first.open(slow={"sequence": [{"delay": 600}, ON]})
    await first.call("script.turn_on", {"entity_id": "script.slow"})
    rows: list[Any] = []
    while not rows or "deadline" not in str(rows[0].position.states):
        await first.bench.advance()
        rows = await WaitingRuns(db, lambda: 0.0).load()
    await first.bench.parts.tasks.cancel_all()

    again = Home(tmp_path, Bench(make_parts(start=first.bench.parts.clock.time() + 100)), WaitingRuns(db, lambda: 0.0))
    await again.open(slow={"sequence": later})
    await again.bench.advance(500)

    assert len(again.bench.calls) == called
    with_outcome = [trace["outcome"] for trace in await again.traces.list("script.slow")]
    assert with_outcome == (["finished"] if called else ["interrupted"])


async def test_a_script_that_fails_is_one_line_of_the_log(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    await home.open(lost={"sequence": [{"action": "nobody.knows"}]})

    with pytest.raises(ScriptFailed):
        await home.call("script.lost")

    assert ["script lost" in record.getMessage() for record in caplog.records] == [True]
    assert "sequence/0: there is no service nobody" in caplog.text


async def test_an_entity_is_found_by_the_id_of_another_registry_whenever_it_comes_or_is_renamed(tmp_path: Path) -> None:
    home, id = Home(tmp_path), "3f2a" * 8
    names: dict[str, str] = {}
    home.bench.parts.ids.named = names.get
    bus = home.bench.parts.bus
    asked = {"condition": "state", "entity_id": id, "state": "on"}
    await home.open(lamp={"sequence": [asked, ON]}, other={"sequence": [ON]})
    other = home.scripts.get("other")

    async def changed(**data: Any) -> None:
        before = home.scripts.get("lamp")
        bus.fire("entity_registry_updated", data)
        await until(lambda: home.scripts.get("lamp") is not before)

    async def goes_by(entity_id: str) -> bool:
        """Return whether the script goes on where this entity alone is on."""
        home.bench.parts.states.set(entity_id, "on")
        before = len(home.bench.calls)
        await home.call("script.lamp")
        home.bench.parts.states.set(entity_id, "off")
        return len(home.bench.calls) > before

    names[id] = "light.desk"
    await changed(action="create", entity_id="light.desk")
    found = [await goes_by("light.desk")]
    names[id] = "light.table"
    await changed(action="update", entity_id="light.table", old_entity_id="light.desk")
    found += [await goes_by("light.desk"), await goes_by("light.table")]
    await home.scripts.close()

    assert found == [True, False, True]
    assert home.scripts.get("other") is other


@pytest.mark.parametrize(
    ("step", "asks"),
    [
        (ON, False),
        ({"action": "lock.lock", "target": {"entity_id": "lock.door"}}, True),
        ({"action": "homeassistant.turn_on", "target": {"entity_id": "cover.garage"}}, True),
        ({"action": "cover.open_cover", "target": {"entity_id": "cover.blind"}}, False),
        ({"action": "cover.open_cover", "target": {"entity_id": "{{ which }}"}}, True),
        ({"action": "cover.open_cover", "target": {"area_id": "hall"}}, True),
        ({"action": "scene.turn_on", "target": {"entity_id": "scene.leaving"}}, True),
        ({"if": "{{ true }}", "then": [{"action": "script.other"}]}, True),
    ],
)
async def test_an_agent_asks_before_an_exposed_script_that_opens_something(home: Home, step: Any, asks: bool) -> None:
    states, services = home.bench.parts.states, home.bench.parts.services
    states.set("cover.garage", "closed", {"device_class": "garage"})
    states.set("cover.blind", "closed", {"device_class": "blind"})
    states.set("scene.leaving", "unknown", {"entity_id": ["cover.garage"]})
    opening = {"action": "cover.toggle", "target": {"entity_id": "cover.garage"}}
    await home.open(go={"expose": True, "sequence": [step]}, other={"sequence": [opening]})

    service = services.get("script", "go")

    assert service is not None
    assert service.prepare is not None
    assert service.prepare({}) == ({}, asks)
