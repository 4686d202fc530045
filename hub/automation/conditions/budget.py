"""budget: less than an amount of dollars or tokens was spent lately, by all, an agent, or an automation's runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.fields import duration
from hub.automation.definition.phrases import all_of, span
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, In, Invalid, Optional, Range, integer, number, slug, string

DAY, HOUR = "day", "hour"
THIS = "this"
LONGEST_S = 31 * 86_400.0


def since(per: str | float, now: float, zone: tzinfo) -> float:
    """Return the start of the budget's period, in seconds since the epoch.

    Args:
        per: `day` (from midnight of the home), `hour` (the last 60 minutes), or a number of seconds.
    """
    if per == DAY:
        today = datetime.fromtimestamp(now, zone)
        return today.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    return now - (3_600.0 if isinstance(per, str) else per)


def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    spending = asking.parts.spending
    if spending is None:
        raise Unavailable("spending is not recorded here")
    start = since(config["per"], asking.parts.clock.time(), asking.parts.zone())
    agent, automation = config.get("agent"), config.get("automation")
    if automation == THIS:
        automation = asking.automation_id
    details: dict[str, Any] = {}
    told: list[str] = []
    for key, shown in (("cost_usd", _dollars), ("tokens", _tokens)):
        if key not in config:
            continue
        ask = spending.cost_usd if key == "cost_usd" else spending.tokens
        spent = ask(since=start, agent=agent, automation=automation)
        details[key] = {"spent": spent, "below": config[key]}
        reason = phrase(
            "{spent} of {limit} were spent {period}",
            spent=shown(spent),
            limit=shown(config[key]),
            period=_by(_per(config["per"]), agent, automation),
        )
        if spent >= config[key]:
            return ConditionVerdict(False, reason, details)
        told.append(reason)
    return ConditionVerdict(True, all_of(told), details)


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"


def _tokens(amount: float) -> str:
    return phrase("{count} tokens", count=f"{amount:,.0f}")


def _per(per: str | float) -> str:
    if per == DAY:
        return phrase("today")
    if per == HOUR:
        return phrase("in the last hour")
    return phrase("in the last {span}", span=span(float(per)))


def _by(period: str, agent: str | None, automation: str | None) -> str:
    if agent is not None:
        period = phrase("{period} by the agent {agent}", period=period, agent=agent)
    if automation is not None:
        return phrase("{period} for the automation {automation}", period=period, automation=automation)
    return period


def _explain(config: Mapping[str, Any]) -> str:
    limits = [shown(config[key]) for key, shown in (("cost_usd", _dollars), ("tokens", _tokens)) if key in config]
    automation = config.get("automation")
    period = _by(_per(config["per"]), config.get("agent"), None if automation == THIS else automation)
    if automation == THIS:
        period = phrase("{period} for this automation", period=period)
    return phrase("less than {limits} were spent {period}", limits=all_of(limits), period=period)


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if not config.keys() & {"cost_usd", "tokens"}:
        raise Invalid(phrase("expected cost_usd or tokens, the limit below which the condition is true"))
    return config


def _below(limit: Any) -> AnyOf:
    """Accept a limit, or `{below: limit}`."""
    return AnyOf(All({"below": limit}, _only_below), limit)


def _only_below(value: dict[str, Any]) -> Any:
    if "below" not in value:
        raise Invalid(phrase("expected the key below"))
    return value["below"]


_POSITIVE = Range(min=0, min_included=False)

KIND = ConditionKind(
    "budget",
    {
        Optional("cost_usd", description="True below this many dollars."): _below(All(number, _POSITIVE)),
        Optional("tokens", description="True below this many tokens."): _below(All(integer, _POSITIVE)),
        Optional("per", default=DAY, description="day, hour, or a duration such as 15m."): AnyOf(
            In([DAY, HOUR]), All(duration, Range(min=1, max=LONGEST_S))
        ),
        Optional("agent", description="Only what this agent spent."): slug,
        Optional("automation", description="Only what this automation's runs spent; `this` for its own."): string,
    },
    _explain,
    "Less than so much was spent.",
    check=_check,
    rule=_rule,
)
