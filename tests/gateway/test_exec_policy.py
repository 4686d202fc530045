"""Which commands run without asking, read and written in the protocol's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Conflict, HubError
from hub.core.schema import SchemaError
from hub.core.surfaces import Caller, MethodCall
from hub.tools.methods.exec_policy import ExecPolicyMethods
from tests.hub_fixture import HubFixture

OWNER = Authority("owner", "owner", SCOPES, owner=True)
AGENTS = """
agents:
  - id: main
    default: true
  - id: cook
    exec: {mode: deny}
exec:
  mode: full
  allow: [apcaccess status]
"""


async def call(house: HubFixture, name: str, params: Mapping[str, Any] | None = None) -> Any:
    method = next(each for each in ExecPolicyMethods(house.config).methods() if each.name == f"exec.approvals.{name}")
    caller = Caller(OWNER, "hub", "127.0.0.1", True)
    return await method.handler(MethodCall(method.name, method.schema(params or {}), caller, Context(OWNER)))


@pytest.fixture
async def ruled(house: HubFixture) -> HubFixture:
    (house.home.path / "configuration.yaml").write_text(f"# Mine.\nhub: {{name: Test}}{AGENTS}")
    await house.config.reload()
    assert house.config.errors == []
    return house


async def test_the_rules_of_the_home_and_of_an_agent_are_shown(ruled: HubFixture) -> None:
    shown = await call(ruled, "get")

    assert (shown["resolvedDefaults"]["security"], shown["resolvedDefaults"]["ask"]) == ("full", "off")
    assert shown["file"]["agents"] == {
        "*": {"allowlist": [{"pattern": "apcaccess status", "commandText": "apcaccess status"}]},
        "cook": {"security": "deny", "ask": "off"},
    }


async def test_rules_are_written_where_they_are_and_nothing_else(ruled: HubFixture) -> None:
    shown = await call(ruled, "get")
    file = {
        "version": 1,
        "defaults": {"security": "allowlist", "ask": "on-miss"},
        "agents": {"*": {"allowlist": [{"pattern": "date"}]}, "cook": {"security": "full"}},
    }

    await call(ruled, "set", {"file": file, "baseHash": shown["hash"]})
    await ruled.config.reload()

    text = (ruled.home.path / "configuration.yaml").read_text()
    assert text.startswith("# Mine.\nhub: {name: Test}")
    assert ruled.config.current["exec"] == {"mode": "ask", "allow": ["date"]}
    assert (await call(ruled, "get"))["file"]["agents"]["cook"] == {"security": "full", "ask": "off"}
    with pytest.raises(Conflict):
        await call(ruled, "set", {"file": file, "baseHash": shown["hash"]})


@pytest.mark.parametrize(
    "file",
    [
        {"version": 2},
        {"version": 1, "defaults": {"ask": "always"}},
        {"version": 1, "defaults": {"security": "deny", "ask": "on-miss"}},
        {"version": 1, "defaults": {"autoAllowSkills": True}},
        {"version": 1, "agents": {"nobody": {"security": "full"}}},
        {"version": 1, "agents": {"*": {"allowlist": [{"pattern": "sh -c x"}]}}},
    ],
)
async def test_rules_that_mean_nothing_here_are_refused(ruled: HubFixture, file: dict[str, Any]) -> None:
    before = (ruled.home.path / "configuration.yaml").read_text()
    hash = (await call(ruled, "get"))["hash"]

    with pytest.raises((HubError, SchemaError)):
        await call(ruled, "set", {"file": file, "baseHash": hash})

    assert (ruled.home.path / "configuration.yaml").read_text() == before
