"""and, or, not: conditions made of conditions. How they are decided is in `hub.automation.running.evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import ConditionKind
from hub.automation.definition.fields import conditions
from hub.automation.definition.kinds import condition_kind
from hub.automation.running.evaluate import evaluate
from hub.core.schema import Required


def _explained(word: str) -> Callable[[Mapping[str, Any]], str]:
    def explain(config: Mapping[str, Any]) -> str:
        return f" {word} ".join(_in_brackets(each) for each in config["conditions"])

    return explain


def _none(config: Mapping[str, Any]) -> str:
    told = [f"not ({explain_condition(each)})" for each in config["conditions"]]
    return " and ".join(told)


def explain_condition(config: Mapping[str, Any]) -> str:
    """Say any condition in plain words; one that is not enabled says so."""
    told = condition_kind(config["condition"]).explain(config)
    return f"{told} (not enabled)" if config.get("enabled") is False else told


def _in_brackets(config: Mapping[str, Any]) -> str:
    told = explain_condition(config)
    return f"({told})" if config["condition"] in ("and", "or") and len(config["conditions"]) > 1 else told


_FIELDS = {Required("conditions", description="The conditions it is made of."): conditions}

AND = ConditionKind("and", _FIELDS, _explained("and"), "All of these hold.", check=evaluate)
OR = ConditionKind("or", _FIELDS, _explained("or"), "At least one of these holds.", check=evaluate)
NOT = ConditionKind("not", _FIELDS, _none, "None of these holds.", check=evaluate)
