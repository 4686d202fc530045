"""The closed cards of a form: an icon, and what they do in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.definition.explain import clause
from hub.automation.definition.fields import conditions, sequence, triggers
from hub.config.spans import as_written
from hub.core.errors import NotFound
from hub.core.schema import Invalid
from web.automations.draft import item_at
from web.automations.form import Card, Form
from web.automations.form_kinds import ACTION, CONDITION, TRIGGER
from web.automations.kind_tiles import icon_of_card

_CHECKS: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {
    TRIGGER: triggers,
    CONDITION: conditions,
    ACTION: sequence,
}


def say(form: Form, item: Mapping[str, Any], in_words: Callable[[str], str], opened: str | None) -> None:
    """Give each card its icon and its words, and open one.

    Args:
        item: The input of the form.
        in_words: Translates a clause, and names its subject.
        opened: The path of a card.
    """
    for card in form.cards():
        try:
            found = as_written(item_at(item, card.path))
        except NotFound:
            continue
        card.icon = icon_of_card(card.what, card.kind, _service(found))
        card.said = in_words(_clause(card, found)).rstrip(":：")
        card.opened = card.path == opened


def _service(item: Any) -> str:
    return str(item.get("action") or item.get("service") or "") if isinstance(item, Mapping) else ""


def _clause(card: Card, item: Any) -> str:
    """Return the action of a card in words; nothing while it is not complete."""
    if isinstance(item, Mapping):  # the card says in its own way that it is off
        without = {"enabled", "id"} if card.what == TRIGGER else {"enabled"}
        item = {key: each for key, each in item.items() if key not in without}
    return clause_of(card.what, item)


def clause_of(what: str, item: Any) -> str:
    """Return a trigger, condition or action, as it is written, in words; empty when it is not complete or not valid."""
    if what not in _CHECKS:
        return ""
    try:
        (found,) = _CHECKS[what]([item])
    except (Invalid, ValueError):
        return ""
    return clause(what, found)
