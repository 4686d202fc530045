"""`device`: an entity of a device is in a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from hub.automation.conditions import numeric_state, state
from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.device_words import state_of
from hub.automation.definition.fields import dynamic_duration, number_or_entity
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, entity_or_registry_id, string


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    found: dict[str, Any] = {"entity_id": [config["entity_id"]], "match": state.ALL}
    found |= {key: config[key] for key in ("for", "above", "below") if key in config}
    kind = numeric_state.KIND if "above" in found or "below" in found else state.KIND
    wanted = state_of(config["domain"], config["type"]) or config["type"]
    check = cast("Callable[..., ConditionVerdict]", kind.check)  # both answer at once
    return check({**found, "state": [wanted]}, asking)


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("{entity}: {what}", entity=config["entity_id"], what=str(config["type"]).replace("_", " "))


KIND = ConditionKind(
    "device",
    {
        Required("device_id", description="The device."): string,
        Required("domain", description="Of the entity."): string,
        Required("type", description="The condition, such as is_on."): string,
        Required("entity_id", description="The entity of the device that it is about."): entity_or_registry_id,
        Optional("above", description="More than this number, or than the number of this entity."): number_or_entity,
        Optional("below", description="Less than this number, or than the number of this entity."): number_or_entity,
        Optional("for", description="Minimum time it has been so."): dynamic_duration,
        Optional("metadata", description="Data of Home Assistant's editor; not used."): object,
    },
    _explain,
    "An entity of a device is in a state.",
    check=_check,
)
