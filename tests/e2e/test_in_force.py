"""What a hub says is in force is in force, also when it noticed the change by itself a moment before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.config.seed import seed
from hub.core.component import Component
from hub.hub import Hub
from hub.storage.homedir import Home


def without_watch(hub: Hub) -> Hub:
    """Return a hub that meets a change only when it is told to."""
    hub.components = tuple(each for each in hub.components if each.name != "config watch")
    return hub


async def test_a_reload_waits_for_the_one_that_met_the_change_first(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    hub = without_watch(Hub(home, port=0))
    try:
        await hub.start()
        (home.path / "automations.yaml").write_text("- {id: new, triggers: [], actions: [{delay: 1}]}\n")
        met = await hub.config.reload()
        again = await hub.config.reload()
        first = asyncio.create_task(hub.apply(met))
        await asyncio.sleep(0)

        await hub.apply(again)

        assert again.changed == set()
        assert hub.automation.automations.status("new").state == "on"
        await first
    finally:
        await hub.stop()


@pytest.mark.parametrize(
    ("mode", "line", "restarts"),
    [
        ("restart", "agents: [{id: attic}]", True),
        ("hybrid", "http: {allowed_hosts: [attic.example], limits: {}}", True),
        ("hybrid", "agents: [{id: attic}]", False),
        ("hot", "http: {allowed_hosts: [attic.example], limits: {}}", False),
    ],
)
async def test_what_a_restart_puts_into_force_is_not_applied_before_it(
    tmp_path: Path, mode: str, line: str, restarts: bool
) -> None:
    home = Home(tmp_path / "home")
    home.create()
    root = home.path / "configuration.yaml"
    root.write_text(f"hub: {{reload: {mode}}}\n")
    hub, asked = without_watch(Hub(home, port=0)), []
    applied: list[frozenset[str]] = []
    hub.components = (*hub.components, _Applied(applied))
    try:
        await hub.start(on_restart=lambda: asked.append(mode))
        root.write_text(f"hub: {{reload: {mode}}}\n{line}\n")
        result = await hub.config.reload()
        await hub.apply(result)
        await hub.apply(await hub.config.reload())

        assert (result.restarting, bool(asked), bool(applied)) == (restarts, restarts, not restarts)
        assert [each.id for each in hub.repairs.all() if each.source == "config"] == ["restart"] * (mode == "hot")
    finally:
        await hub.stop()


class _Applied(Component):
    name = "applied"
    follows_all = True

    def __init__(self, applied: list[frozenset[str]]) -> None:
        self._applied = applied

    async def apply(self, changed: frozenset[str]) -> None:
        self._applied.append(changed)
