"""Plays the story of a case: things happen in a home, and what follows is compared with what the case says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.schema import duration
from hub.gateway.webhooks.webhooks import WebhookRequest
from hub.integration.mqtt_topics import EVENT_MESSAGE, message_data
from tests.automation.conformance.house import ConformanceHouse, local_time

OWNER = Authority("peer:test:user:1", person="anna", owner=True)
HUB_EVENTS = {"start": "hub_started", "shutdown": "hub_stopping"}
STRIDE_S, STRIDES = 60.0, 10


class Story:
    """What happens in one home."""

    def __init__(self, house: ConformanceHouse) -> None:
        self._house = house
        self._answer: Any = None
        self._error: HubError | None = None
        self._steps: Mapping[str, Callable[[Any], Awaitable[None]]] = {
            "set": self._set,
            "remove": self._remove,
            "event": self._event,
            "wait": self._wait,
            "until": self._until,
            "say": self._say,
            "webhook": self._webhook,
            "mqtt": self._mqtt,
            "hub": self._hub,
            "call": self._call,
            "restart": self._restart,
            "calls": self._calls,
            "events": self._events,
            "answer": self._answered,
            "ended": self._ended,
            "not_run": self._not_run,
            "state": self._state,
            "error": self._failed,
        }

    async def play(self, steps: list[Mapping[str, Any]]) -> None:
        """Let it happen, step by step."""
        for step in steps:
            [(name, what)] = step.items()
            await self._steps[name](what)

    # --- what happens ---

    async def _set(self, states: Mapping[str, Any]) -> None:
        for entity_id, state in states.items():
            self._house.set(entity_id, state)
        await self._house.settle()

    async def _remove(self, entity_id: str) -> None:
        self._house.parts.states.remove(entity_id)
        await self._house.settle()

    async def _event(self, what: Any) -> None:
        for type, data in named(what):
            self._house.parts.bus.fire(type, dict(data or {}), Context(OWNER))
        await self._house.settle()

    async def _wait(self, what: Any) -> None:
        await self._pass(duration(what))

    async def _until(self, what: str) -> None:
        await self._pass(local_time(what) - self._house.parts.clock.time())

    async def _pass(self, seconds: float) -> None:
        """Let time pass in strides, each of which lets what it sets off come to where it waits."""
        stride = max(STRIDE_S, seconds / STRIDES)
        while seconds > 0:
            await self._house.advance(min(stride, seconds))
            await self._house.settle()
            seconds -= stride

    async def _say(self, words: str) -> None:
        answer = await self._house.spoken.hear(words, Context(OWNER))
        self._answer = None if answer is None else await answer()
        await self._house.settle()

    async def _webhook(self, what: Mapping[str, Any]) -> None:
        body = orjson.dumps(what["json"]) if "json" in what else str(what.get("form", "")).encode()
        kind = "application/json" if "json" in what else "application/x-www-form-urlencoded"
        request = WebhookRequest(
            what["id"],
            what.get("method", "POST"),
            "127.0.0.1",
            True,
            {"content-type": kind},
            list(what.get("query", {}).items()),
            body,
        )
        self._answer = self._house.webhooks.receive(request).status
        await self._house.settle()

    async def _mqtt(self, messages: Mapping[str, Any]) -> None:
        for topic, payload in messages.items():
            self._house.parts.bus.fire(EVENT_MESSAGE, message_data(topic, payload))
        await self._house.settle()

    async def _hub(self, what: str) -> None:
        self._house.parts.bus.fire(HUB_EVENTS[what], {})
        await self._house.settle()

    async def _call(self, what: Any) -> None:
        self._error = None
        for name, data in named(what):
            domain, _, service = name.partition(".")
            notes: dict[str, Any] = {}
            try:
                await self._house.parts.services.call(domain, service, data, context=Context(OWNER), notes=notes)
            except HubError as error:
                self._error = error
            self._answer = notes.get("answer")
        await self._house.settle()

    async def _restart(self, what: Any) -> None:
        await self._house.stop()
        await self._house.start(self._house.at + duration(what))
        await self._house.settle()

    # --- what follows ---

    async def _calls(self, expected: list[Any]) -> None:
        told, self._house.calls = self._house.calls, []
        assert shown(told, expected) == [only(each) for each in expected]

    async def _events(self, expected: list[Any]) -> None:
        told, self._house.heard = self._house.heard, []
        types = {type for each in expected for type, _ in named(each)}
        found = [(event.type, dict(event.data)) for event in told if event.type in types]
        assert shown(found, expected) == [only(each) for each in expected]

    async def _answered(self, expected: Any) -> None:
        assert self._answer == expected

    async def _failed(self, words: str) -> None:
        assert self._error is not None
        assert words in self._error.message

    async def _ended(self, expected: Any) -> None:
        told, self._house.results = self._house.results, []
        wanted = expected if isinstance(expected, list) else [expected]
        assert [each.outcome.value for each in told] == wanted

    async def _not_run(self, reason: str) -> None:
        id = self._house.automations.all()[0].id
        assert [each["reason"] for each in await self._house.traces.not_run(id)][:1] == [reason]

    async def _state(self, expected: Mapping[str, Any]) -> None:
        for entity_id, wanted in expected.items():
            state = self._house.parts.states.get(entity_id)
            assert state is not None, f"there is no {entity_id}"
            if not isinstance(wanted, Mapping):
                assert state.state == wanted
                continue
            seen = {"state": state.state, **state.attributes}
            assert {key: seen.get(key) for key in wanted} == wanted


def named(what: Any) -> list[tuple[str, Any]]:
    """A name, or names with what belongs to them."""
    return [(what, None)] if isinstance(what, str) else list(what.items())


def only(what: Any) -> Any:
    """One call or event as a case writes it: its name, or its name and its data."""
    [(name, data)] = named(what)
    return name if data is None else (name, data)


def shown(found: list[tuple[str, dict[str, Any]]], expected: list[Any]) -> list[Any]:
    """What was found, with data only where the case says data."""
    bare = [isinstance(only(each), str) for each in expected]
    return [name if index < len(bare) and bare[index] else (name, data) for index, (name, data) in enumerate(found)]
