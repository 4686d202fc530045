"""and, or, not: conditions made of conditions. How they are decided is in `hub.automation.running.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionKind
from hub.automation.definition.fields import conditions
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import all_of, any_of
from hub.automation.running.evaluate import evaluate
from hub.core.phrases import phrase
from hub.core.schema import Required


def _and(config: Mapping[str, Any]) -> str:
    return all_of(_in_brackets(each) for each in config["conditions"])


def _or(config: Mapping[str, Any]) -> str:
    return any_of(_in_brackets(each) for each in config["conditions"])


def _none(config: Mapping[str, Any]) -> str:
    return all_of(phrase("not ({condition})", condition=explain_condition(each)) for each in config["conditions"])


def explain_condition(config: Mapping[str, Any]) -> str:
    """Return a condition in plain words; a disabled one says so."""
    told = kinds_in_use().condition(config["condition"]).explain(config)
    return phrase("{said} (not enabled)", said=told) if config.get("enabled") is False else told


def _in_brackets(config: Mapping[str, Any]) -> str:
    told = explain_condition(config)
    return (
        phrase("({condition})", condition=told)
        if config["condition"] in ("and", "or") and len(config["conditions"]) > 1
        else told
    )


_FIELDS = {Required("conditions", description="The conditions it is made of."): conditions}

AND = ConditionKind("and", _FIELDS, _and, "All of these hold.", check=evaluate)
OR = ConditionKind("or", _FIELDS, _or, "At least one of these holds.", check=evaluate)
NOT = ConditionKind("not", _FIELDS, _none, "None of these holds.", check=evaluate)
