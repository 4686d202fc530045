"""Answers why a device changed, or why an automation ran or did not, from the timeline, in bounded plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from msgspec import Struct

from hub.automation.definition.explain import explain_trigger
from hub.core.context import Authority
from hub.core.errors import NotFound
from hub.core.plain_words import is_plain
from hub.core.states import StateMachine
from hub.entities.entities import HomeEntities
from hub.security.redaction import Redactor
from hub.timeline.happening import Kind
from hub.timeline.listing import Timeline, TimelineFilters
from hub.timeline.one import OneHappening

ROWS = 3
"""Happenings that are told, the newest first."""
STEPS = 8
Plain = Mapping[str, Any]
_OWNERS = frozenset({"automation", "reminder"})
VALUES_LIMIT = 400
"""Characters of the values that decided a condition."""


class Why:
    """Tells why.

    Args:
        timeline: Lists happenings.
        one: Shows one.
        entities: Which are exposed to agents.
        automation_of: Returns the id and the configuration of the automation of an entity id or alias; None for none.
        redactor: Removes secrets.
        zone: Returns the home's time zone.
    """

    def __init__(
        self,
        timeline: Timeline,
        one: OneHappening,
        entities: HomeEntities,
        automation_of: Callable[[str], tuple[str, Mapping[str, Any]] | None],
        redactor: Redactor,
        zone: Callable[[], tzinfo],
    ) -> None:
        self._timeline, self._one, self._entities = timeline, one, entities
        self._automation_of, self._redactor, self._zone = automation_of, redactor, zone

    async def tell(self, wanted: str, since_ms: int, authority: Authority) -> Told:
        """Return the last happenings of an entity or an automation, each with what led to it.

        Raises:
            NotFound: There is no such entity or automation, or agents may not see it.
        """
        states: StateMachine = self._entities.states
        state, automation = states.get(wanted), self._automation_of(wanted)
        if automation is None and (state is None or not self._entities.is_exposed(wanted)):
            raise NotFound(f"there is no entity or automation {wanted[:200]!r}; get_state with search finds its id")
        about = (
            TimelineFilters(automation=automation[0], kinds=frozenset({Kind.AUTOMATION}), since_ms=since_ms)
            if automation is not None
            else TimelineFilters(entity=wanted, kinds=frozenset({Kind.DEVICE}), since_ms=since_ms)
        )
        page = await self._timeline.page(about, authority, limit=ROWS)
        found = [await self._happening(row.id, authority) for row in page.rows]
        name = state.name if state is not None else str((automation or ("", {}))[1].get("alias") or wanted)
        told: dict[str, Any] = {"about": wanted, "name": name, "happenings": found}
        if state is not None:
            told["state"] = state.state
        if automation is not None:
            told["waits_for"] = [explain_trigger(each) for each in automation[1].get("triggers", ())][:STEPS]
        shown: dict[str, Any] = self._redactor.redact_data(told)
        words = [name, told.get("state"), *(each["outside"] for each in found)]
        return Told({**shown, "happenings": [_without_outside(each) for each in shown["happenings"]]}, is_plain(words))

    async def _happening(self, id: str, authority: Authority) -> dict[str, Any]:
        """Return one happening: when, what, its causes, and the conditions with the values that decided."""
        whole = await self._one.get(id, authority)
        row, why = whole["happening"], whole["why"]
        causes, more = [_cause(each) for each in why["causedBy"]], []
        conditions = why["conditions"]
        if row["kind"] == "device":  # the automation that did it knows more
            behind = next((each for each in reversed(why["causedBy"]) if each.get("kind") == "automation"), None)
            if behind is not None and behind.get("id"):
                of = await self._one.get(behind["id"], authority)
                causes = [*map(_cause, of["why"]["causedBy"]), *causes]
                conditions = of["why"]["conditions"]
                more = _outside(of["happening"], of["why"]["causedBy"], conditions)
        return {
            "at": datetime.fromtimestamp(row["at"] / 1_000, self._zone()).isoformat(timespec="seconds"),
            "what": row["title"],
            "outcome": row["outcome"],
            "reason": row["reason"],
            "by": (row["who"] or {}).get("name"),
            "caused_by": list({each["what"]: each for each in causes}.values())[:STEPS],
            "conditions": [_condition(each) for each in conditions[:STEPS]],
            "steps": [each["title"] for each in whole["steps"] if each["kind"] == "action"][:STEPS],
            "outside": [*_outside(row, why["causedBy"], conditions), *more],
        }


class Told(Struct, frozen=True):
    """What was found, and whether it has no words that came from outside."""

    data: Mapping[str, Any]
    trusted: bool


def _outside(row: Plain, causes: Sequence[Plain], conditions: Sequence[Plain]) -> list[Any]:
    """Return what in a happening may come from outside: names and states of devices, payloads, errors, words of people.

    The words of the hub itself are the templates of phrases; the names of automations are their owner's.
    """
    found: list[Any] = [] if row["kind"] in _OWNERS else _values(row, "title")
    for each in causes:
        found += [] if each["kind"] in _OWNERS else _values(each, "title") if each["kind"] != "trigger" else []
        trigger = each.get("trigger") or {}
        found += [value for key, value in trigger.items() if key not in ("platform", "description", "alias")]
    for each in conditions:
        found += [*_values(each, "reason"), each["values"]]
    found += _values(row, "reason") if row["outcome"] == "failed" else []
    return [text.replace("_", " ") if isinstance(text, str) else text for text in found]


def _values(told: Plain, key: str) -> list[Any]:
    """Return the values of a phrase, or a whole text that is none."""
    made = told.get(f"{key}Phrase")
    if not isinstance(made, Mapping):
        return [told[key]] if told.get(key) else []
    found: list[Any] = []
    for value in made["values"].values():
        for each in value if isinstance(value, list) else [value]:
            found += _values({"": each.get("plain"), "Phrase": each}, "") if isinstance(each, Mapping) else [each]
    return found


def _cause(each: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": each["kind"], "what": each["title"]}


def _condition(each: Mapping[str, Any]) -> dict[str, Any]:
    values = f"{each['values']}"
    return {
        "what": each["title"],
        "held": each["holds"],
        "reason": each["reason"],
        **({"values": each["values"]} if each["values"] and len(values) <= VALUES_LIMIT else {}),
    }


def _without_outside(each: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in each.items() if key != "outside"}
    return {key: value for key, value in kept.items() if value not in (None, [], {})}
