from __future__ import annotations

from datetime import UTC, datetime

from hub.automation.heartbeat.file import HeartbeatCheck
from hub.automation.heartbeat.prompt import heartbeat_prompt
from hub.automation.services.system_event_queue import SystemEvent
from hub.sessions.entry import OWNER, Provenance
from integrations.models.offline.provider import OfflineProvider
from tests.integrations.models.offline.test_provider import Talk

NOW = datetime(2026, 11, 21, 15, 20, tzinfo=UTC)
OWNERS = Provenance(who=OWNER)
EVENTS = [SystemEvent("a", "the door was opened", OWNERS, 0), SystemEvent("b", "the oven is hot", OWNERS, 0)]


def talk() -> Talk:
    return Talk(OfflineProvider("offline", lambda: NOW), ())


async def test_what_happened_is_passed_on() -> None:
    said = heartbeat_prompt([HeartbeatCheck("c", "look at the inbox")], "", EVENTS, None, UTC)

    assert await talk().say(said) == "the door was opened\nthe oven is hot"


async def test_what_would_have_to_be_judged_is_said_not_to_be() -> None:
    answer = await talk().say(heartbeat_prompt([HeartbeatCheck("c", "look at the inbox")], "", [], None, UTC))

    assert "- look at the inbox" in answer
    assert "models.providers" in answer


async def test_with_nothing_but_notes_it_stays_quiet() -> None:
    assert await talk().say(heartbeat_prompt([], "Be brief.", [], None, UTC)) == "HEARTBEAT_OK"
