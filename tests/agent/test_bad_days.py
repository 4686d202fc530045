"""A provider's bad days: each answer has its documented outcome, the next message works, no session is spoilt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.bad_days import DAYS, Kind, house_for, live_through, play, run_on
from tests.agent.house import standing
from tests.servers.openai_server import OpenAIServer

KIND = Kind()


@pytest.mark.parametrize("name", DAYS)
async def test_it_has_its_outcome_and_the_next_message_works(
    tmp_path: Path, openai_server: OpenAIServer, name: str
) -> None:
    async with standing(house_for(tmp_path, KIND, openai_server.base_url)) as house:
        await live_through(house, KIND, openai_server, DAYS[name])

    sent = openai_server.requests()[-1]["body"]["messages"]
    asked = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    assert asked == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.parametrize("name", [name for name, day in DAYS.items() if day.spare])
async def test_the_second_key_answers_what_the_first_cannot(
    tmp_path: Path, openai_server: OpenAIServer, name: str
) -> None:
    async with standing(house_for(tmp_path, KIND, openai_server.base_url, spare=True)) as house:
        play(openai_server, DAYS[name])

        results = [await house.runner.run(house.request()) for _ in range(2)]

    assert [each.reply for each in results] == ["all is well"] * 2
    keys = [each["headers"]["authorization"].removeprefix("Bearer sk-test-not-") for each in openai_server.requests()]
    assert keys == ["a-secret", "the-first", "the-first"]
    (failed,) = next(entry.data["failed_models"] for entry in house.entries() if "failed_models" in entry.data)
    assert (failed["model"], failed["reason"], failed["instead"]) == ("test/model@default", name, "test/model@spare")


@pytest.mark.parametrize("name", [name for name, day in DAYS.items() if day.fallback])
async def test_the_fallback_answers_and_the_person_reads_that(
    tmp_path: Path, openai_server: OpenAIServer, name: str
) -> None:
    fallbacks = ["another/other"]
    async with standing(house_for(tmp_path, KIND, openai_server.base_url, fallbacks=fallbacks)) as house:
        play(openai_server, DAYS[name])

        result = await run_on(house, openai_server, DAYS[name])

    assert (result.reply, result.model) == ("all is well", "another/other")
    assert [each["kind"] for each in result.notices] == ["failover"]
