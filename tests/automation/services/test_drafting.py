"""Drafts of automations: valid or shown their error once, of this home, and by known sentences without a model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hub.agent.agents import Agents
from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.services.drafting import Drafted, Drafter, NoDraft
from hub.core.clock import Clock
from hub.core.errors import InvalidRequest
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.schema import ALLOW_EXTRA, Schema
from hub.core.services import ServiceCall
from hub.core.tasks import TaskOwner
from hub.models.registry import ModelRegistry
from hub.models.vendors import OFFLINE_API, OPENAI_API
from hub.storage.history import HistoryStore
from hub.storage.homedir import Home
from integrations.models.offline.provider import OfflineProvider
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.automation.ground import make_parts
from tests.servers.openai_server import OpenAIServer

NOW = datetime(2026, 11, 29, 13, tzinfo=UTC)
GOOD: dict[str, Any] = {
    "alias": "Hall light",
    "triggers": [{"trigger": "sun", "event": "sunset"}],
    "actions": [{"action": "light.turn_on", "target": {"entity_id": "light.hall"}}],
}


@dataclass(frozen=True, slots=True)
class Desk:
    """A drafter over a scripted server, in a home with one lamp."""

    drafter: Drafter
    history: HistoryStore
    server: OpenAIServer

    async def draft(self, *replies: dict[str, Any] | str, said: str = "Light the hall at sunset") -> Drafted:
        self.server.queue(*(each if isinstance(each, str) else json.dumps(each) for each in replies))
        return await self.drafter.draft(said)

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.server.requests()[-1]["body"]["messages"]
        return found


@pytest.fixture(params=["test/scripted"])
async def desk(tmp_path: Path, openai_server: OpenAIServer, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    home = Home(tmp_path / "home")
    home.create()
    clock = Clock()
    bus = EventBus(TaskOwner("test"), clock.time)
    provider = {
        "api": "openai",
        "base_url": openai_server.base_url,
        "api_key": "sk-test-not-a-secret",
        "models": [{"id": "scripted"}],
    }
    section = {"default": request.param, "providers": {"test": provider}, "retry": {"attempts": 1}}
    models = ModelRegistry(section, bus, clock, Repairs(bus), environment={})
    models.register_api(OPENAI_API, lambda name, config: OpenAIProvider(name, config, clock))
    models.register_api(OFFLINE_API, lambda name, config: OfflineProvider(name, lambda: NOW))
    history = HistoryStore(tmp_path / "history.db")
    await history.open()
    parts = make_parts()
    parts.states.set("light.hall", "off", {"friendly_name": "Hall lamp"})

    async def do(call: ServiceCall) -> None:
        raise AssertionError("a draft does nothing")

    for name in ("light.turn_on", "homeassistant.turn_on", "notify.notify", "agent.run"):
        domain, _, rest = name.partition(".")
        parts.services.register(domain, rest, do, Schema({}, extra=ALLOW_EXTRA))
    agents = Agents([{"id": "main", "default": True}], home)
    drafter = Drafter(
        models, agents, parts.states, parts.services, OUR_KINDS, history, clock=clock, now=lambda: "Sunday 13:00"
    )
    yield Desk(drafter, history, openai_server)
    await models.close()
    await history.close()


async def test_a_draft_is_valid_yaml_and_what_a_model_must_not_set_is_left_out(desk: Desk) -> None:
    drafted = await desk.draft(GOOD | {"made_by": "agent:main", "id": "mine", "conditions": []})

    assert drafted.automation == GOOD
    assert drafted.text.startswith("alias: Hall light\ntriggers:\n  - trigger: sun\n")
    assert (drafted.model, drafted.without_model) == ("test/scripted", False)
    system = desk.messages()[0]["content"]
    assert "- light.hall: Hall lamp = off" in system
    assert "- sun: event, offset" in system


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("At sunset, of course.", "not one JSON object"),
        (GOOD | {"triggers": [{"trigger": "sun", "event": "noon"}]}, "['sunrise', 'sunset']"),
        (GOOD | {"actions": []}, "needs actions"),
        (GOOD | {"triggers": []}, "at least one trigger"),
        (GOOD | {"actions": [{"action": "light.turn_onn"}]}, "did you mean light.turn_on"),
        (GOOD | {"triggers": [{"trigger": "state", "entity_id": "light.hal"}]}, "did you mean light.hall"),
    ],
)
async def test_a_model_is_shown_its_error_once(desk: Desk, wrong: Any, told: str) -> None:
    drafted = await desk.draft(wrong, GOOD)

    assert drafted.automation == GOOD
    assert told in str(desk.messages()[-1]["content"])


async def test_twice_wrong_is_no_draft(desk: Desk) -> None:
    with pytest.raises(NoDraft, match="not one JSON object"):
        await desk.draft("No.", "Never.")

    assert len(desk.server.requests()) == 2


@pytest.mark.parametrize("desk", ["offline/homarus"], indirect=True)
@pytest.mark.parametrize(
    ("said", "trigger", "action"),
    [
        (
            "Every weekday at 7:30 tell me the weather",
            {"trigger": "time", "at": "07:30", "weekday": ["mon", "tue", "wed", "thu", "fri"]},
            {"action": "agent.run", "data": {"message": "Tell me the weather", "announce": "last"}},
        ),
        (
            "Turn on the hall lamp at 18:00 every day",
            {"trigger": "time", "at": "18:00"},
            {"action": "homeassistant.turn_on", "target": {"entity_id": "light.hall"}},
        ),
        (
            "At sunset turn on the hall lamp",
            {"trigger": "sun", "event": "sunset"},
            {"action": "homeassistant.turn_on", "target": {"entity_id": "light.hall"}},
        ),
        (
            "When the hall lamp turns on, remind me to switch it off",
            {"trigger": "state", "entity_id": "light.hall", "to": "on"},
            {"action": "notify.notify", "data": {"message": "Switch it off"}},
        ),
        (
            "每天晚上十点提醒我吃药",
            {"trigger": "time", "at": "22:00"},
            {"action": "notify.notify", "data": {"message": "吃药"}},
        ),
    ],
)
async def test_known_sentences_need_no_model(desk: Desk, said: str, trigger: Any, action: Any) -> None:
    drafted = await desk.draft(said=said)

    assert drafted.without_model
    assert drafted.automation["triggers"] == [trigger]
    assert drafted.automation["actions"] == [action]
    assert desk.server.requests() == []


@pytest.mark.parametrize("desk", ["offline/homarus"], indirect=True)
@pytest.mark.parametrize(
    "said", ["Make the home cosy", "Turn on the boiler every day at 7", "At 7 or at 9 tell me news"]
)
async def test_what_is_not_known_is_said_so_and_never_half_drafted(desk: Desk, said: str) -> None:
    with pytest.raises(NoDraft, match="sentences such as"):
        await desk.draft(said=said)


async def test_when_no_model_answers_the_known_sentences_do(desk: Desk) -> None:
    desk.server.set_default({"status": 500})

    drafted = await desk.drafter.draft("Every 2 hours remind me to drink water")

    assert drafted.without_model
    assert drafted.automation["triggers"] == [{"trigger": "every", "every": "02:00:00"}]


async def test_an_empty_sentence_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidRequest, match="say in 1 to"):
        await desk.drafter.draft("  ")
