"""template: a template renders as true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import template
from hub.automation.definition.phrases import shown
from hub.core.phrases import phrase
from hub.core.schema import Required
from hub.template.native import as_bool


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    text = config["value_template"]
    value = asking.render(text)
    details = {"value": value}
    if as_bool(value):
        return ConditionVerdict(True, phrase("{what} is {value}", what=shown(text), value=phrase("true")), details)
    told = phrase("false") if value is False else shown(value) or phrase("nothing")
    return ConditionVerdict(False, phrase("{what} is {value}, not true", what=shown(text), value=told), details)


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("the template {template} is true", template=shown(config["value_template"]))


KIND = ConditionKind(
    "template",
    {Required("value_template", description="The template."): template},
    _explain,
    "A template is true.",
    check=_check,
)
