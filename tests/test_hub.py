"""The hub is a list of components: what each owns, in which order they start, and how a change reaches them."""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from hub.config.seed import seed
from hub.core.component import Component, apply_to, stages_of
from hub.core.errors import HubError, Unavailable
from hub.core.schema import Schema
from hub.core.stages import Stage
from hub.core.surfaces import HttpCall, Method, MethodCall, MethodGroups, Route, RouteGroups
from hub.hub import Hub
from hub.sections import core_sections
from hub.storage.homedir import Home

GROUND = ["gateway", "hub database", "history", "credentials"]
PARTS = [
    "secrets of agents",
    "approvals",
    "registries",
    "helpers",
    "hooks",
    "sessions",
    "search",
    "workspaces",
    "budgets",
    "sandboxes",
    "nodes",
    "voice",
    "pairing",
    "integrations",
    "models",
    "sign-ins",
]
MESSAGES = [
    *("remembering", "events of runs", "runs", "subagents", "automations", "makers of automations"),
    *("timers of satellites", "skills", "timeline"),
]
LAST = ["backup", "update", "audit", "migrate", "watch of the configuration"]


class Recorded(Component):
    """A component that notes in `log` what it is asked to apply."""

    name = "recorded"

    def __init__(self, log: list[str], name: str, *, owns: str = "", follows: str = "", all: bool = False) -> None:
        self.log, self.label = log, name
        self.sections, self.follows, self.follows_all = frozenset({owns}), frozenset({follows}), all

    async def apply(self, changed: frozenset[str]) -> None:
        self.log.append(self.label)


class Clockwork(Component):
    """A further part of the hub, as a developer would add one."""

    name = "clockwork"

    def __init__(self, fault: HubError | None = None) -> None:
        self.fault = fault

    def stages(self) -> Sequence[Stage]:
        return [Stage("clockwork", self.wind)]

    async def wind(self) -> None:
        if self.fault is not None:
            raise self.fault

    def methods(self) -> MethodGroups:
        return {"clockwork": lambda: [Method("clockwork.wind", self.answer_call, "Wind it", Schema({}))]}

    def routes(self) -> RouteGroups:
        return {"clockwork": lambda: [Route("GET", "/clockwork", self.answer, "The clockwork")]}

    async def answer_call(self, call: MethodCall) -> dict[str, bool]:
        return {"wound": True}

    async def answer(self, call: HttpCall) -> web.StreamResponse:
        return web.Response()


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    """A hub that is not started."""
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    hub = Hub(home, port=0)
    yield hub
    await hub.stop()


async def test_every_section_of_the_hub_is_owned_by_one_component(hub: Hub) -> None:
    owned = Counter(section for each in hub.components for section in each.sections)

    assert owned == dict.fromkeys((section.name for section in core_sections()), 1)
    assert set().union(*(each.follows for each in hub.components)) <= set(owned)


async def test_components_have_names_of_their_own(hub: Hub) -> None:
    assert set(Counter(each.name for each in hub.components).values()) == {1}


async def test_the_stages_come_in_their_order(hub: Hub) -> None:
    assert [stage.name for stage in stages_of(hub.components)] == ["egress", *GROUND, *PARTS, *MESSAGES, *LAST]


async def test_recovery_mode_starts_what_an_editor_of_the_configuration_needs(hub: Hub) -> None:
    kept = [each for each in hub.components if each.in_recovery]

    last = [each for each in LAST if each not in ("audit", "migrate")]
    assert [stage.name for stage in stages_of(kept)] == [*GROUND, *last]


async def test_a_change_reaches_owners_and_followers_in_order_and_those_that_follow_everything_last() -> None:
    log: list[str] = []
    components = [
        Recorded(log, "everything", all=True),
        Recorded(log, "follower", owns="b", follows="a"),
        Recorded(log, "other", owns="c"),
        Recorded(log, "owner", owns="a"),
    ]

    await apply_to(components, frozenset({"a"}))

    assert log == ["follower", "owner", "everything"]


async def test_a_further_component_is_started_and_served(hub: Hub) -> None:
    hub.components = (*hub.components, Clockwork())

    await hub.start()

    assert hub.gateway.methods.get("clockwork.wind") is not None
    assert hub.gateway.routes.match("GET", "/clockwork") is not None


async def test_a_component_that_fails_to_start_is_named(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    hub.components = (*hub.components, Clockwork(Unavailable("no spring")))

    with caplog.at_level(logging.ERROR), pytest.raises(HubError, match="no spring"):
        await hub.start()

    assert "clockwork failed to start" in caplog.text


def test_the_composition_root_stays_a_list() -> None:
    assert len(Path(inspect.getfile(Hub)).read_text(encoding="utf-8").splitlines()) < 250
