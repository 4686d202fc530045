"""Whose programs run in a sandbox, and what there is for those who need one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, Unavailable
from hub.core.schema import Schema
from hub.sandbox.contract import Sandbox, SandboxInfo, SandboxSpec
from hub.sandbox.places import SandboxPlaces, WorkspaceRules
from hub.sandbox.sandboxes import SANDBOXES_LIMIT, Sandboxes
from hub.sandbox.schema import SANDBOX_SCHEMA, sandbox_settings
from hub.sandbox.settings import SandboxSettings
from hub.tools.contract import ToolCall

OWNER = Authority("owner", person="anna", owner=True)
TAINTED = OWNER.narrow(tainted=True)
CHILD = Authority("peer:tom", person="tom")
MAIN, GROUP = "agent:main:main", "agent:main:telegram:group:7"


class Place:
    """A sandbox in name only."""

    workdir = "/workspace"
    busy = False

    def __init__(self, name: str) -> None:
        self.name = name


class ListedEngine:
    """An engine that keeps a list of what it would have made."""

    def __init__(self, name: str, problem: str | None = None) -> None:
        self.name, self.problem = name, problem
        self.specs: dict[str, SandboxSpec] = {}
        self.opened = 0

    async def available(self, settings: Mapping[str, Any]) -> str | None:
        return self.problem

    async def open(self, spec: SandboxSpec) -> Sandbox:
        await asyncio.sleep(0)
        self.opened += 1
        self.specs[spec.name] = spec
        return cast(Sandbox, Place(spec.name))

    async def all(self) -> list[SandboxInfo]:
        return [SandboxInfo(each.name, each.agent_id, each.scope, 0, True) for each in self.specs.values()]

    async def close(self) -> None:
        self.specs.clear()

    async def remove(self, name: str) -> None:
        await asyncio.sleep(0)
        self.specs.pop(name, None)


class House:
    """Sandboxes of one agent with the settings that a test gives it."""

    def __init__(self, folder: Path, config: Mapping[str, Any] | None = None, *, mandatory: bool = False) -> None:
        self.clock = ManualClock()
        self.configure(config)
        places = SandboxPlaces(folder, folder / ".storage/sandboxes", lambda _: folder, WorkspaceRules((), (), (), ()))
        self.sandboxes = Sandboxes(lambda _: self.settings, places, self.clock, mandatory=mandatory)

    def configure(self, config: Mapping[str, Any] | None) -> None:
        self.settings: SandboxSettings = sandbox_settings(None if config is None else Schema(SANDBOX_SCHEMA)(config))

    async def of(self, authority: Authority, session_key: str = MAIN) -> str | None:
        call = ToolCall("c", "exec", {}, Context(authority), "main", session_key, "r")
        found = await self.sandboxes.of(call)
        return None if found is None else found.name


@pytest.mark.parametrize(
    ("mode", "authority", "session_key", "expected"),
    [
        ("non_main", OWNER, MAIN, "hub"),
        ("non_main", TAINTED, MAIN, "sandbox"),
        ("non_main", CHILD, MAIN, "sandbox"),
        ("non_main", OWNER, GROUP, "sandbox"),
        ("non_main", OWNER, "agent:main:subagent:1", "sandbox"),
        ("non_main", OWNER, "no key", "sandbox"),
        ("all", OWNER, MAIN, "sandbox"),
        ("off", OWNER, MAIN, "hub"),
        ("off", OWNER, GROUP, "hub"),
        ("off", TAINTED, MAIN, "refused"),
        ("off", CHILD, GROUP, "refused"),
    ],
)
async def test_only_an_owner_free_of_outside_words_runs_programs_in_the_hub(
    mode: str, authority: Authority, session_key: str, expected: str, tmp_path: Path
) -> None:
    house = House(tmp_path, {"mode": mode})
    house.sandboxes.add(ListedEngine("docker"))

    if expected == "refused":
        with pytest.raises(Forbidden, match="must run in a sandbox"):
            await house.of(authority, session_key)
    else:
        found = await house.of(authority, session_key)
        assert ("hub" if found is None else "sandbox") == expected


async def test_without_an_engine_that_works_nothing_runs_and_the_error_says_why(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.sandboxes.add(ListedEngine("docker", "no server answers"))

    with pytest.raises(Unavailable, match=r"docker: no server answers; bubblewrap: its integration is not set up"):
        await house.of(TAINTED)


async def test_docker_is_preferred_and_settings_for_an_engine_choose_it(tmp_path: Path) -> None:
    house = House(tmp_path)
    docker, bubblewrap = ListedEngine("docker"), ListedEngine("bubblewrap")
    house.sandboxes.add(bubblewrap)
    house.sandboxes.add(docker)

    await house.of(TAINTED)
    assert len(docker.specs) == 1
    house.configure({"bubblewrap": None})
    await house.of(TAINTED)
    assert (len(docker.specs), len(bubblewrap.specs)) == (0, 1)


async def test_many_calls_at_once_make_one_sandbox_and_changed_settings_another(tmp_path: Path) -> None:
    house = House(tmp_path)
    engine = ListedEngine("docker")
    house.sandboxes.add(engine)

    names = await asyncio.gather(*(house.of(TAINTED) for _ in range(50)))
    assert (len(set(names)), engine.opened) == (1, 1)
    house.configure({"docker": {"memory": "1g"}})
    await house.of(TAINTED)
    assert engine.opened == 2


@pytest.mark.parametrize(("scope", "expected"), [("session", 2), ("agent", 1), ("shared", 1)])
async def test_the_scope_says_who_shares_one(scope: str, expected: int, tmp_path: Path) -> None:
    house = House(tmp_path, {"mode": "all", "scope": scope})
    house.sandboxes.add(ListedEngine("docker"))

    assert len({await house.of(OWNER, MAIN), await house.of(OWNER, GROUP)}) == expected


async def test_idle_and_forgotten_ones_are_removed_and_there_are_never_too_many(tmp_path: Path) -> None:
    house = House(tmp_path, {"mode": "all", "scope": "session"})
    engine = ListedEngine("docker")
    house.sandboxes.add(engine)
    for number in range(SANDBOXES_LIMIT + 3):
        house.clock.jump(1)
        await house.of(OWNER, f"agent:main:cron:{number}")
    assert len(engine.specs) == SANDBOXES_LIMIT

    last = f"agent:main:cron:{SANDBOXES_LIMIT + 2}"
    name = await house.of(OWNER, last)
    await house.sandboxes.forget(last)
    assert name not in engine.specs
    house.clock.jump(25 * 3_600)
    await house.of(OWNER, "agent:main:cron:5")
    await house.sandboxes.prune()
    assert [*engine.specs] == [await house.of(OWNER, "agent:main:cron:5")]


@pytest.mark.parametrize("config", [None, {"mode": "non_main"}, {"mode": "off"}])
async def test_beside_other_homes_every_program_is_in_one(config: dict[str, str] | None, tmp_path: Path) -> None:
    house = House(tmp_path, config, mandatory=True)
    house.sandboxes.add(ListedEngine("docker"))

    assert await house.of(OWNER, MAIN) is not None
    assert house.sandboxes.confines("main", MAIN, OWNER)
