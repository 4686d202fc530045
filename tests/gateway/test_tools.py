"""Tools over the gateway: why one may be used, and using it."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from hub.agent.subagents.spawning import SpawnRequest
from hub.core.context import SCOPES, Authority, Context, ToolPolicy
from hub.messaging.access.access import AccessPolicy, GroupPolicy, GroupSettings
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules
from hub.tools.schema import TOOLS_SCHEMA
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.messaging.outbox_bench import Platform
from tests.until import until

MAIN = "agent:main:main"
OWNER_HERE = Context(Authority("owner", person="me", scopes=SCOPES, owner=True))


async def _echo(call: ToolCall) -> ToolResult:
    if call.arguments.get("action") == "fail":
        return ToolResult("error: it is broken", is_error=True)
    return ToolResult(f"{call.arguments} in {call.session_key}")


@pytest.fixture
def echo(house: HubFixture) -> HubFixture:
    """A gateway with a tool for everybody and one for owners."""
    arguments = from_schema({str: object})
    house.tools.register(Tool("echo", "Says it again.", arguments, _echo, "session", READS_HOME))
    house.tools.register(Tool("wipe", "Deletes.", arguments, _echo, "files", Annotations()))
    return house


async def test_a_tool_is_used_in_a_session(echo: HubFixture) -> None:
    async with connected(echo) as client:
        said = await client.call("tools.invoke", {"name": "echo", "args": {"a": 1}, "sessionKey": "main"})
        failed = await client.call("tools.invoke", {"name": "echo", "args": {"action": "fail"}})
        missing = await client.call("tools.invoke", {"name": "eko"})

    assert said["payload"] == {
        "ok": True,
        "toolName": "echo",
        "source": "core",
        "output": {"content": [{"type": "text", "text": "{'a': 1} in agent:main:main"}], "details": {}},
    }
    assert failed["payload"]["error"] == {"code": "tool_error", "message": "it is broken"}
    assert (missing["error"]["code"], "tools.explain" in missing["error"]["message"]) == ("NOT_FOUND", True)


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"tool": "echo", "args": {"a": 1}}, 200, "{'a': 1} in agent:main:main"),
        ({"tool": "echo", "action": "say", "sessionKey": "agent:kitchen:main"}, 200, "'say'} in agent:kitchen:main"),
        ({"tool": "echo", "action": "fail"}, 400, "it is broken"),
        ({"tool": "echo", "dryRun": True}, 200, "dryRun"),
        ({"tool": "nothing"}, 404, "not_found"),
        ({"tool": "nothing", "dryRun": True}, 404, "not_found"),
        ({"tool": "echo", "sessionKey": "agent:nobody:main"}, 404, "nobody"),
        ({"args": {}}, 400, "tool"),
    ],
)
async def test_a_tool_is_used_over_http(echo: HubFixture, body: dict[str, Any], status: int, expected: str) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{echo.url}/tools/invoke", json=body, headers=echo.bearer) as answer,
    ):
        text = await answer.text()

    assert answer.status == status
    assert expected in text
    assert f'"ok":{str(status == 200).lower()}' in text


async def test_whoever_may_not_use_a_tool_does_not_learn_that_it_exists(echo: HubFixture) -> None:
    _, secret = await echo.tokens.create("reader and writer", ["operator.write"])

    async with connected(echo, token=secret.reveal()) as client:
        [wipe, nothing] = [await client.call("tools.invoke", {"name": name}) for name in ("wipe", "nothing")]
        said = await client.call("tools.invoke", {"name": "echo"})

    assert wipe["error"]["message"].replace("wipe", "nothing") == nothing["error"]["message"]
    assert said["payload"]["ok"] is True


@pytest.mark.parametrize("owner", [True, False])
async def test_what_a_token_has_a_tool_write_is_asked_about(echo: HubFixture, owner: bool) -> None:
    anybody = Annotations(owner_only=False, open_world=False)
    echo.tools.register(Tool("keep", "Keeps it.", from_schema({}), _echo, "files", anybody))
    _, secret = await echo.tokens.create("writer", ["operator.write"])

    async with connected(echo, token=echo.token if owner else secret.reveal()) as client:
        id = await client.send("tools.invoke", {"name": "keep"})
        if not owner:
            await until(lambda: bool(echo.approvals.pending()))
            await echo.approvals.resolve(echo.approvals.pending()[0].id, False, OWNER_HERE)
        answer = await client.answer(id)

    assert answer["payload"]["ok"] is owner


async def test_what_fails_after_nobody_waits_for_it_any_more_is_logged(
    echo: HubFixture, caplog: pytest.LogCaptureFixture
) -> None:
    asks = Tool("ask", "Asks.", from_schema({str: object}), _echo, "files", Annotations(), approval=lambda *_: "why")
    echo.tools.register(asks)

    async with connected(echo) as client:
        params = {"name": "ask", "args": {"action": "fail"}, "wait": False}
        answer = await client.call("tools.run", params)
        await echo.approvals.resolve(answer["payload"]["approval_id"], True, OWNER_HERE)
        await until(lambda: "the tool ask failed after it was approved: error: it is broken" in caplog.text)

    assert answer["payload"]["status"] == "approval_required"


@pytest.mark.parametrize(
    ("params", "decided_by"),
    [
        ({"name": "echo"}, None),
        ({"name": "wipe"}, "tools"),
        ({"name": "echo", "as": "person"}, None),
        ({"name": "echo", "as": "guest"}, "tools.strangers"),
        ({"name": "wipe", "as": "person"}, "owner"),
        ({"name": "echo", "tainted": True}, "tools.tainted"),
    ],
)
async def test_an_explanation_names_the_rule_that_decides(
    echo: HubFixture, params: dict[str, Any], decided_by: str | None
) -> None:
    echo.tools.configure(ToolRules.from_config(TOOLS_SCHEMA({"deny": ["wipe"], "tainted": {"deny": ["group:*"]}})))

    async with connected(echo) as client:
        answer = (await client.call("tools.explain", params))["payload"]

    assert (answer["allowed"], answer["decidedBy"]) == (decided_by is None, decided_by)
    against = [layer["layer"] for layer in answer["layers"] if not layer["permits"]]
    assert against[:1] == ([decided_by] if decided_by else [])


@pytest.mark.parametrize("layer", ["agents[].sandbox", "subagents"])
async def test_a_sandbox_and_a_subagent_decide_in_the_explanation_and_the_list_as_in_the_call(
    echo: HubFixture, layer: str
) -> None:
    key, tool = MAIN, "echo"
    if layer == "subagents":
        tool = "schedule"
        echo.tools.register(Tool(tool, "Later.", from_schema({str: object}), _echo, "session", READS_HOME))
        await echo.sessions.ensure(MAIN, person="me")
        key = (await echo.subagents.spawn(SpawnRequest("look", OWNER_HERE, MAIN, "main", "r1"))).session_key
    else:
        echo.agents.configure([{"id": "main", "sandbox": {"mode": "all"}}])

    async with connected(echo) as client:
        explained = (await client.call("tools.explain", {"name": tool, "sessionKey": key}))["payload"]
        listed = (await client.call("tools.effective", {"sessionKey": key}))["payload"]
        used = await client.call("tools.run", {"name": tool, "args": {}, "sessionKey": key, "wait": True})

    assert (explained["allowed"], explained["decidedBy"]) == (False, layer)
    assert f"'{tool}'" not in str(listed)
    assert "FORBIDDEN" in str(used)


async def test_the_rules_of_a_group_are_explained_where_the_session_is_held(echo: HubFixture) -> None:
    rule = ToolPolicy(deny=frozenset({"echo"}), source="groups.77.tools")
    access = AccessPolicy(group=GroupPolicy.OPEN, groups={"77": GroupSettings(tools=(rule,))})
    await echo.channels.add(Platform("quiet"), access)

    async with connected(echo) as client:
        group, direct = [
            await client.call("tools.explain", {"name": "echo", "sessionKey": f"agent:main:quiet:{kind}:77"})
            for kind in ("group", "direct")
        ]

    assert (group["payload"]["allowed"], group["payload"]["decidedBy"]) == (False, "groups.77.tools")
    assert direct["payload"]["allowed"] is True
