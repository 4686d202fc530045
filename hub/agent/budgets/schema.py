"""Configuration of budgets: `budgets:`."""

from __future__ import annotations

from typing import Any

from hub.agent.budgets.budgets import MEASURES, WARN_AT, BudgetAction, BudgetPer
from hub.config.sections import Section
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    ensure_list,
    integer,
    number,
    positive_seconds,
    string,
)
from hub.models.schema import model_ref

BUDGETS_LIMIT = 50

_count = All(integer, Range(min=1, max=10**15))


def _whole(budget: dict[str, Any]) -> dict[str, Any]:
    if not any(name in budget for name in MEASURES):
        raise Invalid(f"a budget needs a measure: {', '.join(MEASURES)}")
    if "only" in budget and budget["per"] not in (BudgetPer.AGENT, BudgetPer.CHANNEL):
        raise Invalid("only names an agent or a channel; it goes with per: agent or per: channel", path=["only"])
    if (budget["then"] == BudgetAction.DEGRADE) != ("model" in budget):
        raise Invalid("then: degrade and model, the cheaper one, go together", path=["then"])
    return budget


BUDGET_SCHEMA = All(
    {
        Required("per", description="What it is for; agent, channel and day (the whole home) begin again each day"): In(
            [each.value for each in BudgetPer]
        ),
        Optional("only", description="The one agent or channel it is for; without it each has such a budget"): All(
            string, Length(min=1, max=100)
        ),
        Optional("turns", description="Model calls"): _count,
        Optional("tokens", description="Tokens in and out"): _count,
        Optional("cost_usd", description="US dollars, where prices are known"): All(
            number, Range(min=0, min_included=False, max=1_000_000)
        ),
        Optional("seconds", description="Time of runs"): All(positive_seconds, Range(max=31_536_000)),
        Optional("calls", description="Tool calls"): _count,
        Optional("warn_at", default=WARN_AT, description="The share from which the conversation is warned, once"): All(
            number, Range(min=0, min_included=False, max=1)
        ),
        Optional(
            "then",
            default=BudgetAction.STOP.value,
            description="When it is used up: warn only, answer with a cheaper model, or stop",
        ): In([each.value for each in BudgetAction]),
        Optional("model", description="The model that answers then, with then: degrade"): model_ref,
    },
    _whole,
)

BUDGETS_SCHEMA = Schema(All(ensure_list(BUDGET_SCHEMA), Length(max=BUDGETS_LIMIT)))

SECTIONS = (
    Section("budgets", BUDGETS_SCHEMA, default=[], description="What runs may spend, beyond the limits of each agent"),
)
