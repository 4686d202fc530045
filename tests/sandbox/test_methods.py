"""What the gateway says of sandboxes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.agent.agents import Agents
from hub.core.errors import NotFound
from hub.core.surfaces import MethodCall
from hub.sandbox.methods import SandboxMethods
from hub.storage.homedir import Home
from tests.sandbox.test_who_is_in_one import TAINTED, House, ListedEngine


class Asked:
    """The methods over sandboxes of a test."""

    def __init__(self, house: House, agents: list[dict[str, Any]], folder: Path) -> None:
        known = Agents(agents, Home(folder))
        house.settings = known.get("main").sandbox
        self._methods = {each.name: each for each in SandboxMethods(house.sandboxes, known).methods()}

    async def __call__(self, what: str, **params: Any) -> Any:
        method = self._methods[f"sandbox.{what}"]
        return await method.handler(cast(MethodCall, SimpleNamespace(params=method.schema(params))))


@pytest.mark.parametrize(
    ("sandbox", "where", "confines"),
    [
        (None, ["hub", "sandbox", "sandbox", "sandbox"], "programs"),
        ({"mode": "all"}, ["sandbox"] * 4, "conversation"),
        ({"mode": "off"}, ["hub", "refused", "hub", "refused"], "conversation"),
    ],
)
async def test_it_explains_where_programs_run(
    sandbox: dict[str, Any] | None, where: list[str], confines: str, tmp_path: Path
) -> None:
    house = House(tmp_path)
    house.sandboxes.add(ListedEngine("docker", "no server answers"))
    house.sandboxes.add(ListedEngine("bubblewrap"))
    ask = Asked(house, [{"id": "main", **({} if sandbox is None else {"sandbox": sandbox})}], tmp_path)

    told = await ask("explain", agentId="main")

    assert [*told["programsRunIn"].values()] == where
    assert told["confines"] == confines
    assert told["engine"] == "bubblewrap"
    assert [each["problem"] for each in told["engines"]] == ["no server answers", None]
    with pytest.raises(NotFound):
        await ask("explain", agentId="nobody")


async def test_it_lists_recreates_and_prunes(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.sandboxes.add(ListedEngine("docker"))
    ask = Asked(house, [{"id": "main"}], tmp_path)
    name = await house.of(TAINTED)

    assert [each["name"] for each in (await ask("list"))["sandboxes"]] == [name]
    assert (await ask("recreate", name=name))["removed"]
    assert (await ask("list"))["sandboxes"] == []
    with pytest.raises(NotFound, match="homarus sandbox list"):
        await ask("recreate", name=name)
    await house.of(TAINTED)
    assert await ask("prune") == {"removed": [name]}
