"""The present state of an automation's cards: whether its conditions hold, and when its triggers fired last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.definition.fields import conditions
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.evaluate import ConditionError
from hub.automation.tracing.trace_store import TraceStore
from hub.automation.trial.card import holds_now
from hub.config.spans import as_written
from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.schema import SchemaError
from web.automations.draft import item_at
from web.automations.form import Card, Form
from web.automations.form_kinds import CONDITION, TRIGGER
from web.automations.trace_view import seconds_of

Badge = Mapping[str, str]
"""`text` and `tone` of a chip, and `why`: words that stand below."""


class CardStates:
    """Reports the state of cards.

    Args:
        parts: Inputs of conditions; nothing of it is changed, and no model is asked.
        traces: Where is kept what triggers fired.
        spoken: Returns a time as people say it, from milliseconds since the epoch.
    """

    def __init__(self, parts: AutomationParts, traces: TraceStore, spoken: Callable[[int], str]) -> None:
        self._parts = parts
        self._traces = traces
        self._spoken = spoken

    async def of(self, form: Form, item: Mapping[str, Any], saved: Mapping[str, Any], id: str) -> dict[str, Badge]:
        """Return the badges of the cards that have one, by their paths; texts are phrases, still to be translated.

        Args:
            form: The form with the cards.
            item: The input of the form.
            saved: The automation as it is in its file, whose triggers may have fired.
            id: The id of the automation; empty for a new one.
        """
        fired = await self._fired(id) if id else {}
        found: dict[str, Badge] = {}
        for card in form.cards():
            badge = None if card.off else self._badge(card, item, saved, fired, id)
            if badge is not None:
                found[card.path] = badge
        return found

    def _badge(
        self, card: Card, item: Mapping[str, Any], saved: Mapping[str, Any], fired: Mapping[str, float], id: str
    ) -> Badge | None:
        if card.what == TRIGGER:
            key, _, index = card.path.partition(".")
            seconds = fired.get(index or "0")
            if seconds is None or _at(saved, card.path) != _at(item, card.path) or "." in index or key not in saved:
                return None
            return {"text": self._spoken(int(seconds * 1_000)), "tone": "", "why": ""}
        return self._condition(_at(item, card.path), id) if card.what == CONDITION and card.kind else None

    def _condition(self, written: Any, id: str) -> Badge | None:
        try:
            (valid,) = conditions([as_written(written)])
            verdict = holds_now(valid, self._parts, id) if id else holds_now(valid, self._parts)
        except (SchemaError, ValueError):
            return None
        except ConditionError as error:
            return {"text": phrase("Cannot be told"), "tone": "", "why": error.plain}
        if verdict is None:
            return None
        return {
            "text": phrase("Holds now") if verdict.holds else phrase("Does not hold now"),
            "tone": "good" if verdict.holds else "",
            "why": verdict.reason,
        }

    async def _fired(self, id: str) -> dict[str, float]:
        """Return when each trigger fired last, in seconds since the epoch, by its place."""
        found: dict[str, float] = {}
        for trace in await self._traces.list(id):
            index = (trace.get("trigger") or {}).get("idx")
            seconds = seconds_of(trace.get("started"))
            if index is not None and seconds is not None and not trace.get("imported"):
                found[str(index)] = max(seconds, found.get(str(index), 0.0))
        return found


def _at(item: Mapping[str, Any], path: str) -> Any:
    try:
        return item_at(item, path)
    except NotFound:
        return None
