"""template: a template renders as true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import template
from hub.automation.definition.phrases import value_text
from hub.core.phrases import phrase
from hub.core.schema import Required
from hub.template.native import as_bool


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    text = config["value_template"]
    value = asking.render(text)
    details = {"value": value}
    if as_bool(value):
        return ConditionVerdict(True, phrase("{what} is {value}", what=value_text(text), value=phrase("true")), details)
    told = phrase("false") if value is False else value_text(value) or phrase("nothing")
    return ConditionVerdict(False, phrase("{what} is {value}, not true", what=value_text(text), value=told), details)


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("the template {template} is true", template=value_text(config["value_template"]))


KIND = ConditionKind(
    "template",
    {Required("value_template", description="The template."): template},
    _explain,
    "A template is true.",
    check=_check,
)
