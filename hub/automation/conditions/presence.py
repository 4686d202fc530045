"""presence: people of this home are at home, or away. It checks the entities `person.<id>`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.phrases import join_words
from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Length, Optional, ensure_list, slug
from hub.core.slugs import object_id

ALL, ANY = "all", "any"
HOME, NOT_HOME, AWAY = "home", "not_home", "away"
_EVERYBODY = "all"
_ANYBODY = "any"
_NOT_KNOWN = ("unknown", "unavailable", "")


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    people = asking.parts.people()
    named: list[str] = config["person"]
    if named in ([_EVERYBODY], [_ANYBODY]):
        match = named[0]
        ids = [person.id for person in people.all()]
    else:
        match, ids = config["match"], named
    wants_home = config["state"] == HOME
    told: list[str] = []
    places: dict[str, str | None] = {}
    for id in ids:
        person = people.by_id(id)
        if person is None:
            raise NotFound(f"there is no person {id}; there are: {join_words(each.id for each in people.all())}")
        state = asking.parts.states.get(f"person.{object_id(id)}")
        place = None if state is None or state.state in _NOT_KNOWN else state.state
        places[id] = place
        if place is None:
            fits, reason = False, phrase("it is not known where {person} is", person=person.name)
        else:
            fits = (place == HOME) is wants_home
            reason = phrase("{person} is {where}", person=person.name, where=_where(place))
        if fits is (match == ANY):
            return ConditionVerdict(fits, reason, {"places": places})
        told.append(reason)
    return ConditionVerdict(match == ALL, join_words(told), {"places": places})


def _where(place: str) -> str:
    if place == HOME:
        return phrase("at home")
    return phrase("away") if place in (NOT_HOME, AWAY) else phrase("away ({place})", place=place)


def _explain(config: Mapping[str, Any]) -> str:
    where = _where(config["state"])
    match config["person"]:
        case ["all"]:
            return phrase("everyone is {where}", where=where)
        case ["any"]:
            return phrase("someone is {where}", where=where)
        case [one]:
            return phrase("{person} is {where}", person=one, where=where)
        case several if config["match"] == ANY:
            return phrase("{person} is {where}", person=join_words(several, "or"), where=where)
        case several:
            return phrase("{person} are {where}", person=join_words(several), where=where)


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if len(config["person"]) > 1 and {_EVERYBODY, _ANYBODY} & set(config["person"]):
        raise Invalid(phrase("expected all, any, or persons by their ids"), path=["person"])
    return config


KIND = ConditionKind(
    "presence",
    {
        Optional("person", default=_ANYBODY, description="A person or several by id, or any, or all."): All(
            ensure_list(slug), Length(min=1)
        ),
        Optional("match", default=ALL, description="Of several: whether all or any of them."): In([ALL, ANY]),
        Optional("state", default=HOME, description="home, or not_home (away)."): In([HOME, NOT_HOME, AWAY]),
    },
    _explain,
    "People are at home, or away.",
    check=_check,
    rule=_rule,
)
