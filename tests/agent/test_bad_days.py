"""A provider's bad days: each answer has its documented outcome, the next message works, no session is spoilt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from hub.sessions.repair import pending_calls
from tests.agent.house import TEXT, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer

KEYS = [{"id": "spare", "api_key": "sk-test-not-the-first"}]
STALL_S = 1.0
CALL = {"tool_call": {"name": "look", "arguments": {"text": "it"}}}
CUT_OFF = {"tool_call": {"name": "look", "arguments": '{"text": "i'}}


class BadDay(Struct, frozen=True):
    """What the provider answers, and what comes of it.

    Attributes:
        answers: To the calls of one message, in order; the last one again and again when `always`.
        alone: Code of the error when there is nobody else to ask; None when the message is answered.
        kept: What of the answer is kept then.
        spare: Whether a second key of the same provider is asked.
        fallback: Whether another model answers.
    """

    answers: tuple[Any, ...]
    alone: str | None
    kept: str = ""
    spare: bool = False
    fallback: bool = True
    always: bool = False


def refused(status: int, message: str) -> dict[str, Any]:
    return {"status": status, "body": {"error": {"message": message}}}


DAYS = {
    "429": BadDay((refused(429, "Too many requests"),), "MODEL_RATE_LIMITED", spare=True),
    "402": BadDay((refused(402, "Payment required"),), "MODEL_BILLING", spare=True),
    "401": BadDay((refused(401, "Invalid API key"),), "MODEL_AUTH", spare=True),
    "529": BadDay((refused(529, "Overloaded"),), "MODEL_OVERLOADED"),
    "overflow": BadDay(
        (refused(400, "maximum context length is 10"),), "MODEL_CONTEXT_OVERFLOW", fallback=False, always=True
    ),
    "stall in mid-stream": BadDay(
        ([{"text": "It began"}, {"hold": "never"}],), "MODEL_TIMEOUT", kept="It began", fallback=False
    ),
    "stall before the first word": BadDay(([{"hold": "never"}],), "MODEL_TIMEOUT"),
    "broken off": BadDay(
        ([{"text": "It began"}, {"disconnect": True}],), "MODEL_OVERLOADED", kept="It began", fallback=False
    ),
    "arguments cut off": BadDay((CUT_OFF, "I looked again."), None, kept="I looked again.", fallback=False),
    "100 MB": BadDay(([{"text": "x" * 1_000_000}] * 100,), "MODEL_FORMAT", kept="x", fallback=False),
    "endless tool loop": BadDay((CALL,), "LIMIT_EXCEEDED", fallback=False, always=True),
}


def section(server: OpenAIServer, *, patience_s: float = 60.0, spare: bool = False) -> dict[str, Any]:
    provider: dict[str, Any] = {
        "api": "openai",
        "base_url": server.base_url,
        "api_key": "sk-test-not-a-secret",
        "models": [{"id": "model", "context_window": 32_768}],
    }
    more = {"credentials": KEYS} if spare else {}
    other = {**provider, "models": ["other"]}
    return {
        "default": "test/model",
        "providers": {"test": {**provider, **more, "timeout_s": patience_s}, "another": other},
        "retry": {"attempts": 1},
    }


def house_for(folder: Path, server: OpenAIServer, name: str, *, spare: bool = False, **models: Any) -> AgentHouse:
    patience_s = STALL_S if "stall" in name else 60.0
    configured = {**section(server, patience_s=patience_s, spare=spare), **models}
    house = AgentHouse(folder / "home", server.base_url, models=configured)
    house.tool("look", lambda call: "seen", parameters=TEXT)
    return house


def play(server: OpenAIServer, day: BadDay) -> None:
    server.queue(*day.answers)
    server.set_default(day.answers[-1] if day.always else "all is well")


@pytest.mark.parametrize("name", DAYS)
async def test_it_has_its_outcome_and_the_next_message_works(
    tmp_path: Path, openai_server: OpenAIServer, name: str
) -> None:
    day = DAYS[name]
    async with standing(house_for(tmp_path, openai_server, name)) as house:
        play(openai_server, day)

        result = await house.runner.run(house.request("look at it"))
        openai_server.reset()
        house.models.configure(section(openai_server))
        again = await house.runner.run(house.request("and now?"))

    assert (result.error or {}).get("code") == day.alone
    assert result.reply.startswith(day.kept)
    assert (again.status, again.reply) == ("ok", "ok")
    assert pending_calls([entry.message for entry in house.entries() if entry.message is not None]) == []
    sent = openai_server.requests()[-1]["body"]["messages"]
    asked = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    assert asked == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.parametrize("name", [name for name, day in DAYS.items() if day.spare])
async def test_the_second_key_answers_what_the_first_cannot(
    tmp_path: Path, openai_server: OpenAIServer, name: str
) -> None:
    async with standing(house_for(tmp_path, openai_server, name, spare=True)) as house:
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
    async with standing(house_for(tmp_path, openai_server, name, fallbacks=["another/other"])) as house:
        play(openai_server, DAYS[name])

        result = await house.runner.run(house.request())

    assert (result.reply, result.model) == ("all is well", "another/other")
    assert [each["kind"] for each in result.notices] == ["failover"]
