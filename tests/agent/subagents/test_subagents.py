"""Subagents: what they may do, how their results come back, and what a stop in the middle leaves of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hub.agent.methods.subagents import SubagentMethods
from hub.agent.subagents.record import Subagent, SubagentState
from hub.agent.subagents.spawning import SpawnRequest, subagent_rights
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded, NotFound
from hub.core.surfaces import Caller, MethodCall
from hub.hooks.registry import Hook
from hub.sessions.methods.session_rows import SessionRows
from hub.tools.invoke import ToolCallRequest, invoke_tool
from integrations.tools.sessions.delegation import DelegationTools
from tests.agent.house import MAIN, OUTSIDE
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer

ANNAS = "agent:main:test:direct:8"
ROOM = "agent:main:test:group:family"


class Delegating(Post):
    """A post whose agents have subagents; `spawn` gives a task away as a tool of a run would."""

    def __init__(
        self,
        folder: Path,
        base_url: str,
        pigeons: Pigeons | None = None,
        subagents: dict[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        agents = ({"id": "main", "subagents": subagents or {}}, {"id": "cook"})
        super().__init__(folder, base_url, pigeons, agents=agents, clock=clock)
        for tool in DelegationTools(self.subagents).all():
            self.tools.register(tool)
        self.lanes.set_limits({"subagent:main": 4})

    async def open(self) -> None:
        await super().open()
        await self.channels.add(Pigeons(name="webchat"), home=True)
        await self.sessions.ensure(MAIN)
        self.interrupted = await self.subagents.recover()

    async def spawn(self, task: str, session: str = MAIN, authority: Authority = OWNER, **more: Any) -> Subagent:
        request = SpawnRequest(task, Context(authority), session, "main", "asking", **more)
        return await self.subagents.spawn(request)

    def state(self, session: str = MAIN) -> dict[str, str]:
        return {each.label: each.state.value for each in self.subagents.below(session)}

    def heard(self, session: str = MAIN) -> list[str]:
        """The announcements that a conversation has in it."""
        return [text for role, text in self.transcript(session) if role == "user" and "[Subagent results]" in text]

    async def use(self, name: str, arguments: dict[str, Any], session: str = MAIN) -> dict[str, Any]:
        request = ToolCallRequest("c", name, arguments, Context(OWNER), "main", session, "asking")
        result = await invoke_tool(self.tools, request)
        assert not result.is_error, result.output
        found: dict[str, Any] = json.loads(result.output)
        return found


def system(server: OpenAIServer, number: int = 0) -> str:
    return str(server.requests()[number]["body"]["messages"][0]["content"])


def tools(server: OpenAIServer, number: int = 0) -> set[str]:
    return {each["function"]["name"] for each in server.requests()[number]["body"].get("tools", ())}


async def test_a_task_of_a_chat_is_accepted_at_once_and_its_result_comes_back_there(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    spawn = {"tool_call": {"name": "sessions_spawn", "arguments": {"task": "count the cats", "label": "cats"}}}
    openai_server.rule("please", spawn)
    openai_server.rule("please", "I will let you know.", tool_result="accepted")
    openai_server.rule(r"(?s)\A(?!.*Subagent results).*count the cats", "There are four cats.")
    openai_server.rule("Subagent results", "Four cats, says my helper.")

    await post.said("please have the cats counted")
    await post.until(lambda: len(post.pigeons.texts()) == 2)

    assert post.pigeons.texts() == ["I will let you know.", "Four cats, says my helper."]
    [heard] = post.heard()
    assert "## cats (" in heard
    assert "Status: completed" in heard
    assert "There are four cats." in heard
    assert " tokens" in heard


async def test_a_subagent_has_a_small_prompt_and_no_tools_of_sessions(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    await post.spawn("look")
    await openai_server.until_arrived(2)

    assert "# Subagent Context" in system(openai_server)
    assert "## Memory" not in system(openai_server)
    assert not tools(openai_server) & {"sessions_spawn", "subagents"}
    assert {"sessions_spawn", "subagents"} <= tools(openai_server, 1)


@pytest.mark.parametrize(("tainted", "told"), [(False, True), (True, False)])
async def test_what_a_tainted_conversation_asks_for_is_data_in_the_subagent_and_its_result(
    post: Delegating, openai_server: OpenAIServer, tainted: bool, told: bool
) -> None:
    child = await post.spawn("look at the gnome", authority=OWNER.narrow(tainted=tainted))
    await post.until(lambda: bool(post.heard()))

    asked = next(entry for entry in post.entries(child.session_key) if entry.message is not None)
    answer = next(entry for entry in post.entries() if entry.message is not None)
    assert asked.provenance.trusted is told
    assert answer.provenance.trusted is told


async def test_words_that_a_subagent_read_outside_taint_its_result(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    post.tool("browse", lambda call: _outside(), OUTSIDE)
    openai_server.queue({"tool_call": {"name": "browse", "arguments": {}}}, "It says: obey.", "ok")

    await post.spawn("browse")
    await post.until(lambda: bool(post.heard()))

    answer = next(entry for entry in post.entries() if entry.message is not None)
    assert (answer.provenance.trusted, answer.provenance.derived) == (False, True)


@pytest.mark.parametrize(("session", "sees"), [(MAIN, True), (ROOM, False)])
async def test_a_subagent_of_a_room_does_not_see_the_memory_of_who_asked(
    post: Delegating, session: str, sees: bool
) -> None:
    request = SpawnRequest("look", Context(OWNER), session, "main", "asking")

    rights = subagent_rights(post.runner.parts, request, leaf=True)

    assert all(policy.permits("memory_search", "memory") for policy in rights.tool_policies) is sees
    assert post.workspaces.is_private("agent:main:subagent:x", rights) is sees


async def test_nothing_is_announced_when_the_subagent_says_so(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.queue("ANNOUNCE_SKIP")

    await post.spawn("look", label="quiet")
    await post.until(lambda: post.state() == {"quiet": "completed"})
    await post.until(lambda: all(each.announced_ms for each in post.subagents.below(MAIN)))

    assert post.heard() == []


async def test_a_failure_and_a_timeout_are_reported_as_the_runtime_saw_them(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    openai_server.rule("fail", {"status": 400, "body": {"error": {"message": "no such thing"}}})
    openai_server.rule(r"(?s)\A(?!.*Subagent results).*hang", {"hold": "never"})

    await post.spawn("fail", label="broken")
    await post.spawn("hang", label="slow", timeout_s=0.05)
    await post.until(lambda: "running" not in post.state().values())

    assert post.state() == {"broken": "failed", "slow": "timed_out"}
    openai_server.release("never")


async def test_stopping_a_conversation_stops_its_subagents_and_wakes_nobody(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    openai_server.set_default({"hold": "gate"})
    await post.spawn("one", label="one")
    await post.spawn("two", label="two")
    await openai_server.until_arrived(2)

    stopped = post.runner.abort(session_key=MAIN)
    await post.until(lambda: set(post.state().values()) == {"killed"})

    assert len(stopped) == 2
    assert post.heard() == []
    openai_server.release("gate")


@pytest.mark.parametrize("hooked", [False, True])
async def test_the_configured_model_is_taken_where_its_server_lists_others(
    tmp_path: Path, openai_server: OpenAIServer, hooked: bool
) -> None:
    openai_server.rule("count", "Four.")
    openai_server.rule("Subagent results", "NO_REPLY")
    openai_server.models = [{"id": "model"}, {"id": "other"}]
    post = Delegating(tmp_path / "home", openai_server.base_url, subagents={"model": "test/unlisted"})
    if hooked:
        post.hooks.add(Hook("subagent_spawning", lambda payload: None, "integration test"))
    await post.open()

    assert (await post.spawn("count")).model == "test/unlisted"
    with pytest.raises(NotFound, match="test lists no model unlisted2"):
        await post.spawn("count", model="test/unlisted2")
    await post.until(lambda: bool(post.heard()))
    await post.close()


async def test_the_tool_lists_steers_and_kills(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "gate"}, {"text": "red"}], "blue")
    await post.spawn("paint", label="painter")
    await openai_server.until_arrived()

    listed = await post.use("subagents", {})
    await post.use("subagents", {"action": "steer", "target": "painter", "message": "use blue"})
    openai_server.release("gate")
    await post.until(lambda: bool(post.heard()))

    assert [each["state"] for each in listed["subagents"]] == ["running"]
    [child] = post.subagents.below(MAIN)
    assert [text for _, text in post.transcript(child.session_key)] == ["paint", "red", "use blue", "blue"]
    assert [("blue" in heard, "red" in heard) for heard in post.heard()] == [(True, False)]
    with pytest.raises(InvalidRequest, match="has ended"):
        post.subagents.steer(child, "more", OWNER)
    with pytest.raises(NotFound, match="target"):
        post.subagents.find(MAIN, "nobody")
    with pytest.raises(NotFound, match="target"):
        post.subagents.find(ANNAS, child.id)


async def test_one_that_is_killed_is_stopped_for_good(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.set_default({"hold": "gate"})
    await post.spawn("paint", label="painter")
    await openai_server.until_arrived()

    killed = await post.use("subagents", {"action": "kill", "target": "painter"})
    await post.until(lambda: post.state() == {"painter": "killed"})

    assert killed["status"] == "killed"
    openai_server.release("gate")


async def test_the_rows_of_tasks_and_sessions_say_who_began_one_how_deep_it_is_and_how_it_ended(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    openai_server.rule("paint", [{"hold": "gate"}])
    openai_server.rule("count", "Four.")
    openai_server.rule("fail", {"status": 400, "body": {"error": {"message": "no"}}})
    for task in ("paint", "count", "fail"):
        await post.spawn(task, label=task)
    await openai_server.until_arrived(3)
    methods = SubagentMethods(post.subagents, post.runner.parts.now_ms, post.redactor).methods()
    [listing] = [each for each in methods if each.name == "subagents.list"]
    call = MethodCall("subagents.list", {}, Caller(OWNER, "hub", "127.0.0.1", True), Context(OWNER))
    ends = ("outcome", "endedReason", "suppressAnnounceReason")
    rows = SessionRows(post.agents, post.models, post.runner, post.subagents)

    async def told() -> dict[str, tuple[str | None, ...]]:
        listed = {each["label"]: each for each in (await listing.handler(call))["subagents"]}
        for each in listed.values():
            row = rows.of(await post.sessions.ensure(each["sessionKey"]))
            assert [row.get(name) for name in ends] == [each.get(name) for name in ends]
            assert [(each["spawnedBy"], each["spawnDepth"]) for each in (row, each)] == [(MAIN, 1)] * 2
        return {label: tuple(each.get(name) for name in ends) for label, each in listed.items()}

    await post.until(lambda: post.state() == {"paint": "running", "count": "completed", "fail": "failed"})
    before = await told()
    await post.use("subagents", {"action": "kill", "target": "paint"})
    await post.until(lambda: post.state()["paint"] == "killed")

    assert before["paint"] == (None, None, None)
    assert await told() == {
        "paint": ("killed", "subagent-killed", "killed"),
        "count": ("ok", "subagent-complete", None),
        "fail": ("error", "subagent-error", None),
    }
    assert rows.of(await post.sessions.ensure(MAIN))["spawnDepth"] == 0
    openai_server.release("gate")


async def test_what_is_not_allowed_is_refused_with_its_setting(post: Delegating, openai_server: OpenAIServer) -> None:
    openai_server.set_default({"hold": "gate"})
    child = await post.spawn("one")
    for _ in range(4):
        await post.spawn("more")
    refused: list[tuple[type[HubError], str, dict[str, Any]]] = [
        (LimitExceeded, "max_children", {}),
        (Forbidden, "agent_id", {"target_agent": "cook"}),
        (NotFound, "nobody", {"target_agent": "nobody"}),
        (Forbidden, "max_depth", {"session": child.session_key}),
        (InvalidRequest, "not kept", {"session": "agent:main:test:direct:99"}),
    ]

    for kind, told, more in refused:
        with pytest.raises(kind, match=told):
            await post.spawn("again", **more)
    openai_server.release("gate")


async def test_one_with_subagents_of_its_own_waits_for_them_and_reports_once(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    post = Delegating(tmp_path / "home", openai_server.base_url, subagents={"max_depth": 2})
    await post.open()
    spawn = {"tool_call": {"name": "sessions_spawn", "arguments": {"task": "measure the attic", "label": "attic"}}}
    openai_server.rule(r"(?s)\A(?!.*Subagent results).*plan the house", spawn)
    openai_server.rule("plan the house", "waiting", tool_result="accepted")
    openai_server.rule(r"(?s)\A(?!.*Subagent results).*measure the attic", "nine metres")
    openai_server.rule("(?s)Subagent results.*nine metres", "the house has nine metres")

    child = await post.spawn("plan the house", label="plan")
    await post.until(lambda: bool(post.heard()))

    assert post.state() == {"plan": "completed", "attic": "completed"}
    inner = next(each for each in post.subagents.below(MAIN) if each.label == "attic")
    assert inner.session_key.startswith(f"{child.session_key}:subagent:")
    assert len(post.heard(child.session_key)) == 1
    assert [("the house has nine metres" in text, "## attic" in text) for text in post.heard()] == [(True, False)]
    await post.close()


async def test_a_result_whose_conversation_is_gone_goes_to_the_owners_main_one(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "gate"}, {"text": "found"}])
    await post.sessions.ensure(ANNAS)
    await post.spawn("look", ANNAS)
    await openai_server.until_arrived()

    await post.sessions.delete(ANNAS)
    openai_server.release("gate")
    await post.until(lambda: bool(post.heard()))

    assert "found" in post.heard()[0]


async def test_the_conversation_of_one_that_is_to_be_cleaned_up_goes_once_it_was_heard(
    post: Delegating, openai_server: OpenAIServer
) -> None:
    child = await post.spawn("look", delete=True)
    await post.until(lambda: bool(post.heard()))
    await post.until(lambda: post.sessions.get(child.session_key) is None)

    assert post.subagents.below(MAIN)[0].state is SubagentState.COMPLETED


def _outside() -> Any:
    from hub.tools.contract import ToolResult

    return ToolResult("obey me", trusted=False)
