"""Backtest: when would an automation have run in the last days, and what would it have done?

Recorded events and states are replayed through the same triggers, conditions and actions, on separate parts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct, field

from hub.automation.contract import Firing
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import SavedStates
from hub.automation.engine.trigger_host import ArmedTriggerHost, Schedules
from hub.automation.running.signals import error_text
from hub.automation.running.start_variables import trigger_variables
from hub.automation.tracing.trace import iso_time, plain_value
from hub.automation.trial.dry_firing import Trial
from hub.automation.trial.replay import Replay
from hub.core.context import SYSTEM, Context, system_context
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.ids import new_id
from hub.core.schema import SchemaError
from hub.core.states import EVENT_STATE_CHANGED
from hub.storage.history import HistoryStore
from hub.storage.recorder import CUT, KEPT

REPLAYED = frozenset(
    {
        *("event", "state", "numeric_state", "template", "time", "time_pattern", "sun", "at", "every", "cron"),
        *("message", "agent", "node", "webhook", "hub"),
    }
)
"""Kinds of triggers that only listen and wait. Others watch files, programs or feeds, and are never armed here."""
LONGEST_S = 31 * 86_400.0
ROWS_LIMIT = 200_000
FIRINGS_LIMIT = 20_000
SHOWN_LIMIT = 500
"""Runs that are shown, and firings that set nothing off; further ones are counted."""
REAL_LIMIT_S = 60.0
PAGE = 2_000
BREATH_S = 0.02


class _Found(Struct):
    runs: list[dict[str, Any]] = field(default_factory=list)
    not_run: list[dict[str, Any]] = field(default_factory=list)
    unknown: list[dict[str, Any]] = field(default_factory=list)
    run_count: int = 0
    not_run_count: int = 0
    truncated: str | None = None


async def backtest(
    config: Mapping[str, Any], parts: AutomationParts, since: float, until: float, *, context: Context | None = None
) -> dict[str, Any]:
    """Return what an automation would have done in a period of the past. Nothing is executed.

    Args:
        config: Validated and expanded.
        parts: The hub's, with its history; nothing of it is changed.
        since, until: Seconds since the epoch; at most 31 days.
        context: The authority of templates and conditions.

    Returns:
        `{"since", "until", "runs": [{"time", "trigger", "calls", "reason", "outcome"}], "run_count", "not_run": [{…}],
        "not_run_count", "unknown": [{…}], "truncated"}`: in `not_run` are `time`, `trigger`, `reason`, `text`; in
        `unknown` `trigger`, `platform`, `text`, of triggers whose past is not or not wholly recorded; `truncated` says
        why it ended early. Waits and delays take no time in it, so runs never overlap.

    Raises:
        InvalidRequest: The span is empty or too long.
        Unavailable: No history is recorded.

    Cancelling it ends it.
    """
    until = min(until, parts.clock.time())
    if not since < until or until - since > LONGEST_S:
        raise InvalidRequest(f"expected a span of the past, at most {LONGEST_S / 86_400:g} days")
    history = parts.history
    if history is None or history.off is not None:
        raise Unavailable("no history is recorded, so there is nothing to replay")
    replay = Replay(parts, since)
    try:
        return await _Backtest(
            config, parts, history, replay, since, until=until, context=context or system_context()
        ).run()
    finally:
        await replay.close()


class _Backtest:
    def __init__(
        self,
        config: Mapping[str, Any],
        parts: AutomationParts,
        history: HistoryStore,
        replay: Replay,
        since: float,
        *,
        until: float,
        context: Context,
    ) -> None:
        self._config = config
        self._live = parts
        self._history = history
        self._replay = replay
        self._since = since
        self._until = until
        self._trial = Trial(config, replay.parts, context)
        self._fired: deque[Firing] = deque()
        self._found = _Found()
        self._firings = 0
        self._began = self._breath = time.monotonic()
        self._seen: set[str] = set()
        self._listened: dict[str, set[str]] = {}

    async def run(self) -> dict[str, Any]:
        await self._restore()
        self._arm()
        await self._replay.settle()
        rows = 0
        async for at, apply in self._records():
            await self._replay.until(at, self._drain)
            if self._found.truncated is not None:
                break
            rows += 1
            if rows > ROWS_LIMIT:
                self._found.truncated = f"more than {ROWS_LIMIT} events and states are recorded in this time"
                break
            apply()
            await self._replay.settle()
            await self._drain()
        if self._found.truncated is None:
            await self._replay.until(self._until, self._drain)
        self._tell_unseen()
        return self._told()

    # --- before ---

    async def _restore(self) -> None:
        """Set the states as they were at the beginning."""
        before = {each["entity_id"]: each for each in await self._history.states_at(self._since)}
        for state in self._live.states.all():
            if state.entity_id not in before and state.last_updated < self._since:
                before[state.entity_id] = {**state.as_dict(), "time": state.last_updated}
        start = self._replay.clock
        for each in sorted(before.values(), key=lambda found: found["time"]):
            start.set_time(each["time"])
            self._set(each["entity_id"], each["state"], each["attributes"], None)
        start.set_time(self._since)

    def _arm(self) -> None:
        parts = self._replay.parts
        variables = trigger_variables(self._config, parts.templates)
        for config in self._config["triggers"]:
            name, index = config["trigger"], config["index"]
            if config.get("enabled", True) is False:
                continue
            if name not in REPLAYED:
                self._unknown(index, f"what the trigger {name} watches is not recorded")
                continue
            schedules = Schedules(SavedStates(armed={"": self._since}))
            host = ArmedTriggerHost(
                parts,
                self._config,
                config,
                variables,
                schedules,
                on_firing=self._fired.append,
                on_problem=self._unknown,
            )
            before = parts.bus.listener_counts()
            try:
                parts.kinds.trigger(name).arm(config, host)
            except (HubError, SchemaError) as error:
                self._unknown(index, error_text(error))
                continue
            after = parts.bus.listener_counts()
            self._listened[index] = {type for type, number in after.items() if number > before.get(type, 0)}
            self._doubt(config)

    def _doubt(self, config: Mapping[str, Any]) -> None:
        """Report data that a trigger needs and that is missing or incomplete in the history."""
        index, name = config["index"], config["trigger"]
        if name == "message" and config.keys() & {"text", "regex"}:
            self._unknown(index, "what messages say is not recorded")
        if name == "webhook":
            self._unknown(index, "of webhooks only their ids are recorded; their data is empty here")
        if name == "event":
            for type in self._listened[index]:
                missing = set(config.get("event_data") or {}) - set(KEPT.get(type, ()))
                if type in KEPT and missing:
                    self._unknown(index, f"of the event {type} these are not recorded: {', '.join(sorted(missing))}")
            if config.get("context"):
                self._unknown(index, "who caused an event is not recorded")
            return
        for type in self._listened[index] - {EVENT_STATE_CHANGED}:
            if type not in KEPT:
                self._unknown(index, f"the event {type} is not recorded")

    # --- meanwhile ---

    async def _records(self) -> AsyncIterator[tuple[float, Any]]:
        """Yield the recorded data in order of time, each with a function that replays it."""
        types = {type for listened in self._listened.values() for type in listened} - {EVENT_STATE_CHANGED}
        states, events = self._states(), self._events(types)
        state, event = await anext(states, None), await anext(events, None)
        while state is not None or event is not None:
            if event is None or (state is not None and state["time"] <= event["time"]):
                assert state is not None  # noqa: S101  one of the two is there
                yield state["time"], _Setting(self, state)
                state = await anext(states, None)
            else:
                yield event["time"], _Happening(self, event)
                event = await anext(events, None)

    async def _states(self) -> AsyncIterator[dict[str, Any]]:
        after_id = 0
        while page := await self._history.states_between(self._since, self._until, after_id=after_id, limit=PAGE):
            for each in page:
                yield each
            after_id = page[-1]["id"]

    async def _events(self, types: set[str]) -> AsyncIterator[dict[str, Any]]:
        after_id = 0
        while types and (
            page := await self._history.events_between(types, self._since, self._until, after_id=after_id, limit=PAGE)
        ):
            for each in page:
                yield each
            after_id = page[-1]["id"]

    def _set(self, entity_id: str, state: str | None, attributes: Any, context_id: str | None) -> None:
        states = self._replay.parts.states
        context = _context(context_id)
        if state is None:
            states.remove(entity_id, context)
            return
        states.set(entity_id, state, attributes if isinstance(attributes, dict) else {}, context)

    def _happen(self, event: Mapping[str, Any]) -> None:
        data = event["data"]
        self._seen.add(event["type"])
        if not isinstance(data, dict) or CUT in data or "truncated" in data:
            data = {}
        self._replay.parts.bus.fire(event["type"], data, _context(event["context_id"]))

    async def _drain(self) -> bool:
        """Try pending firings; return whether to go on."""
        now = time.monotonic()
        if now - self._breath > BREATH_S:
            await asyncio.sleep(0)
            self._breath = time.monotonic()
        if now - self._began > REAL_LIMIT_S:
            self._found.truncated = self._found.truncated or f"it took longer than {REAL_LIMIT_S:g} s"
        while self._fired and self._found.truncated is None:
            self._firings += 1
            if self._firings > FIRINGS_LIMIT:
                self._found.truncated = f"its triggers fired more than {FIRINGS_LIMIT} times"
                break
            await self._try(self._fired.popleft())
        return self._found.truncated is None

    async def _try(self, firing: Firing) -> None:
        found = self._found
        tried = await self._trial.fire(firing)
        told = {
            "time": iso_time(self._replay.clock.time(), self._live.zone()),
            "trigger": {key: plain_value(firing.trigger.get(key)) for key in ("platform", "id", "idx", "description")},
        }
        if tried.would_run:
            found.run_count += 1
            if len(found.runs) < SHOWN_LIMIT:
                outcome = tried.ended.outcome.value if tried.ended is not None else None
                calls = list(tried.calls)
                found.runs.append({**told, "calls": calls, "reason": tried.reason, "outcome": outcome})
            return
        found.not_run_count += 1
        if len(found.not_run) < SHOWN_LIMIT:
            reason = tried.not_run.value if tried.not_run is not None else None
            found.not_run.append({**told, "reason": reason, "text": tried.reason})

    # --- behind ---

    def _unknown(self, index: str, text: str) -> None:
        platform = next((each["trigger"] for each in self._config["triggers"] if each["index"] == index), None)
        told = {"trigger": index, "platform": platform, "text": text}
        if told not in self._found.unknown:
            self._found.unknown.append(told)

    def _tell_unseen(self) -> None:
        for config in self._config["triggers"]:
            if config["trigger"] != "event":
                continue
            for type in self._listened.get(config["index"], set()) - self._seen - KEPT.keys() - {EVENT_STATE_CHANGED}:
                self._unknown(
                    config["index"],
                    f"no event {type} is on record in this time; of the hub's own events only some are recorded",
                )

    def _told(self) -> dict[str, Any]:
        found, zone = self._found, self._live.zone()
        return {
            "since": iso_time(self._since, zone),
            "until": iso_time(self._until, zone),
            "runs": found.runs,
            "run_count": found.run_count,
            "not_run": found.not_run,
            "not_run_count": found.not_run_count,
            "unknown": found.unknown,
            "truncated": found.truncated,
        }


class _Setting(Struct, frozen=True):
    owner: _Backtest
    row: Mapping[str, Any]

    def __call__(self) -> None:
        row = self.row
        self.owner._set(row["entity_id"], row["state"], row["attributes"], row["context_id"])


class _Happening(Struct, frozen=True):
    owner: _Backtest
    row: Mapping[str, Any]

    def __call__(self) -> None:
        self.owner._happen(self.row)


def _context(id: str | None) -> Context:
    return Context(SYSTEM, id=id or new_id())
