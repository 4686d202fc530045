"""Events of a run beside its words: tools on their way, and the conversation that is summarised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.secret import MASK, Secret, SecretText
from hub.gateway.push.events import RunEvents
from tests.gateway.rig import connected, running
from tests.hub_fixture import HubFixture

RUN = {"run_id": "r", "session_key": "agent:main:main", "agent_id": "main"}
CALL = {**RUN, "call_id": "c1", "name": "build"}


async def test_a_tool_is_told_of_when_it_begins_goes_on_and_ends(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        RunEvents(rig.bus, rig.gateway.broadcast, rig.clock).start()
        async with connected(rig) as client:
            rig.bus.fire("run_tool_started", {**CALL, "arguments": {"what": "a boat"}})
            rig.bus.fire("run_tool_updated", {**CALL, "output": "half", "waits": False})
            rig.bus.fire("run_tool_updated", {**CALL, "output": "", "waits": True})
            rig.bus.fire("run_tool_finished", {**CALL, "output": "a boat", "is_error": False, "duration_ms": 5})
            told = [(await client.event("agent"))["payload"]["data"] for _ in range(4)]

    assert [each["phase"] for each in told] == ["start", "update", "update", "result"]
    assert (told[1]["partialResult"], told[2]["waitingForApproval"], told[3]["result"]) == ("half", True, "a boat")


async def test_a_summary_is_told_of_in_its_run_and_between_runs_as_a_change_of_the_session(house: HubFixture) -> None:
    begun: dict[str, Any] = {**RUN, "reason": "overflow", "tokens_before": 9_000}
    done = {**begun, "tokens_after": 900, "messages": 40}
    async with connected(house) as client:
        await client.call("sessions.subscribe")
        house.bus.fire("compaction_finished", {**done, "run_id": None})
        changed = (await client.event("sessions.changed"))["payload"]
        house.bus.fire("compaction_started", begun)
        house.bus.fire("compaction_finished", {**begun, "error": "no summary"})
        house.bus.fire("compaction_finished", done)
        told = [(await client.event("agent"))["payload"] for _ in range(3)]

    assert (changed["sessionKey"], changed["reason"]) == ("agent:main:main", "compact")
    assert [each["stream"] for each in told] == ["compaction"] * 3
    assert [each["data"]["phase"] for each in told] == ["start", "end", "end"]
    assert [each["data"]["completed"] for each in told[1:]] == [False, True]
    assert (told[2]["data"]["messages"], told[2]["data"]["willRetry"]) == (40, True)


async def test_secrets_are_taken_out_of_what_is_pushed_by_their_words_and_by_their_origin(house: HubFixture) -> None:
    house.redactor.register('correct "horse"')
    async with connected(house) as client:
        for said in ('it is correct "horse"', SecretText("1234"), Secret("x"), "it is in the cellar"):
            house.bus.fire("run_tool_finished", {**CALL, "output": "", "details": {"said": said}})
        told = [(await client.event("agent"))["payload"]["data"]["details"]["said"] for _ in range(4)]

    assert told == [f"it is {MASK}", MASK, MASK, "it is in the cellar"]
