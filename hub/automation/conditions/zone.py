"""zone: persons or trackers are in one of some zones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import entity_ids
from hub.automation.definition.phrases import join_words
from hub.automation.triggers.zone import ZONE
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Required, ensure_list
from hub.core.zones import is_in_zone


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    """Return whether each entity is in one of the zones; an error only where that decides it."""
    told: list[str] = []
    away: str | None = None
    failed: HubError | None = None
    for entity in config["entity_id"]:
        found = None
        for zone in config["zone"]:
            try:
                if _is_in(zone, entity, asking):
                    found = zone
            except HubError as error:
                failed = failed or error
        if found is None:
            away = away or phrase("{entity} is not in {zone}", entity=entity, zone=join_words(config["zone"], "or"))
        else:
            told.append(phrase("{entity} is in {zone}", entity=entity, zone=found))
    if away is None:
        return ConditionVerdict(True, join_words(told), {})
    if failed is not None:
        raise failed
    return ConditionVerdict(False, away, {})


def _is_in(zone_id: str, entity_id: str, asking: ConditionContext) -> bool:
    zone, state = asking.parts.states.get(zone_id), asking.parts.states.get(entity_id)
    if zone is None or state is None:
        raise NotFound(phrase("there is no entity {entity}", entity=zone_id if zone is None else entity_id))
    try:
        return is_in_zone(zone, state)
    except LookupError:
        raise InvalidRequest(
            phrase("{entity} says no place: it has no latitude and longitude", entity=entity_id)
        ) from None


def _explain(config: Mapping[str, Any]) -> str:
    what, zone = join_words(config["entity_id"]), join_words(config["zone"], "or")
    if len(config["entity_id"]) > 1:
        return phrase("{entity} are in {zone}", entity=what, zone=zone)
    return phrase("{entity} is in {zone}", entity=what, zone=zone)


KIND = ConditionKind(
    "zone",
    {
        Required("entity_id", description="Persons or trackers; all must be there."): entity_ids,
        Required("zone", description="A zone or several, of which one is enough."): All(
            ensure_list(ZONE), Length(min=1)
        ),
    },
    _explain,
    "Somebody is in a zone.",
    check=_check,
)
