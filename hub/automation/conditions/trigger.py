"""trigger: the automation was triggered by one of these triggers, named by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import join_words
from hub.core.phrases import phrase
from hub.core.schema import Required


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    trigger = asking.variables.get("trigger")
    id = trigger.get("id") if isinstance(trigger, Mapping) else None
    details = {"id": id, "wanted": config["id"]}
    if id is None:
        return ConditionVerdict(False, phrase("no trigger set it off"), details)
    if str(id) in config["id"]:
        return ConditionVerdict(True, phrase("trigger {id} set it off", id=id), details)
    return ConditionVerdict(False, _other(id, config["id"]), details)


def _other(id: Any, wanted: list[str]) -> str:
    return phrase("trigger {id} set it off, not {wanted}", id=id, wanted=join_words(wanted, "or"))


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("trigger {id} set it off", id=join_words(config["id"], "or"))


KIND = ConditionKind(
    "trigger",
    {
        Required(
            "id",
            description="ID of a trigger, or a list.",
        ): match_text
    },
    _explain,
    "It was set off by a certain trigger.",
    check=_check,
)
