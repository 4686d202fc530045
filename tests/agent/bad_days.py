"""What a provider answers on its bad days, and the outcome of each: the same for every provider."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from hub.agent.run_request import RunResult
from hub.sessions.repair import pending_calls
from tests.agent.house import TEXT, AgentHouse
from tests.servers.openai_script import Answer
from tests.until import skip_time, until

PATIENCE_S = 60.0
KEYS = [{"id": "spare", "api_key": "sk-test-not-the-first"}]
CALL = {"tool_call": {"name": "look", "arguments": {"text": "it"}}}
CUT_OFF = {"tool_call": {"name": "look", "arguments": '{"text": "i'}}


class BadDay(Struct, frozen=True):
    """What the provider answers, and the outcome.

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

    @property
    def stalls(self) -> bool:
        """Whether the answer stops before its end."""
        return isinstance(self.answers[0], list) and {"hold": "never"} in self.answers[0]


class ScriptedServer(Protocol):
    """A double of a provider."""

    @property
    def base_url(self) -> str: ...

    def queue(self, *answers: Answer) -> None: ...

    def set_default(self, answer: Answer) -> None: ...

    def reset(self) -> None: ...

    def requests(self, path: str | None = ...) -> list[dict[str, Any]]: ...


class Kind(Struct, frozen=True):
    """A provider as it is configured: its name, its `api`, and a model that it has."""

    name: str = "test"
    api: str = "openai"
    model: str = "model"


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
    "overflow as Anthropic says it": BadDay(
        (refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),),
        "MODEL_CONTEXT_OVERFLOW",
        fallback=False,
        always=True,
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


def section(kind: Kind, base_url: str, *, spare: bool = False) -> dict[str, Any]:
    """Return the section `models:` with one provider, and another that is used only as a fallback."""
    provider: dict[str, Any] = {
        "api": kind.api,
        "base_url": base_url,
        "api_key": "sk-test-not-a-secret",
        "models": [{"id": kind.model, "context_window": 32_768}],
    }
    more = {"credentials": KEYS} if spare else {}
    other = {**provider, "models": ["other"]}
    return {
        "default": f"{kind.name}/{kind.model}",
        "providers": {kind.name: {**provider, **more, "timeout_s": PATIENCE_S}, "another": other},
        "retry": {"attempts": 1},
    }


def house_for(folder: Path, kind: Kind, base_url: str, *, spare: bool = False, **models: Any) -> AgentHouse:
    """Return an agent that has a tool."""
    configured = {**section(kind, base_url, spare=spare), **models}
    house = AgentHouse(folder / "home", base_url, models=configured)
    house.tool("look", lambda call: "seen", parameters=TEXT)
    return house


def play(server: ScriptedServer, day: BadDay) -> None:
    """Let the provider have its bad day."""
    server.queue(*day.answers)
    server.set_default(day.answers[-1] if day.always else "all is well")


async def run_on(house: AgentHouse, server: ScriptedServer, day: BadDay, text: str = "hello") -> RunResult:
    """Say something; where the answer stalls, the time is over that it may take."""
    running = asyncio.ensure_future(house.runner.run(house.request(text)))
    if day.stalls:
        await until(lambda: house.told("run_delta") if day.kept else server.requests(None))
        skip_time(PATIENCE_S)
    return await running


async def live_through(
    house: AgentHouse, kind: Kind, server: ScriptedServer, day: BadDay
) -> tuple[RunResult, RunResult]:
    """Say something on a bad day, and something more on the next; check that nothing was spoilt."""
    play(server, day)

    result = await run_on(house, server, day, "look at it")
    server.reset()
    house.models.configure(section(kind, server.base_url))
    again = await house.runner.run(house.request("and now?"))

    assert (result.error or {}).get("code") == day.alone
    assert result.reply.startswith(day.kept)
    assert (again.status, again.reply) == ("ok", "ok")
    assert pending_calls([entry.message for entry in house.entries() if entry.message is not None]) == []
    return result, again
