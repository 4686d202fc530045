"""Texts about budgets and limits for people, in the language of the home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.budgets.budgets import amount
from hub.messaging.texts import say


def notice_text(notice: Mapping[str, Any], language: str) -> str:
    """Return a notice beside an answer; see `RunResult.notices`."""
    if notice["kind"] in ("resting", "asked_first"):
        reason = say(f"rest.{notice['reason']}", language)
        return say(f"notice.{notice['kind']}", language, **{**notice, "reason": reason})
    if "measure" not in notice:
        return say(f"notice.{notice['kind']}", language, **notice)
    values = {
        "budget": _budget(notice["per"], notice["only"], language),
        "spent": amount_text(notice["measure"], notice["spent_amount"], language),
        "limit": amount_text(notice["measure"], notice["limit_amount"], language),
    }
    return say(f"notice.{notice['kind']}", language, **{**notice, **values})


def limit_text(error: Mapping[str, Any], language: str) -> str | None:
    """Return the text about the limit that ended a run, None for any other error; see `LimitHit.details`."""
    hit = error.get("details") or {}
    if "measure" not in hit:
        return None
    measure, setting, value = hit["measure"], hit["limit"], float(hit["value"])
    if "per" in hit:
        spent, limit = (amount_text(measure, each, language) for each in (hit["spent"], value))
        return say(
            "limit.budget", language, budget=_budget(hit["per"], hit["only"], language), spent=spent, limit=limit
        )
    if "repeats" in hit:
        what = say(f"repeats.{hit['repeats']}", language, tools=", ".join(hit["tools"]))
        return say("limit.repeats", language, what=what, times=f"{hit['spent']:g}", setting=setting)
    return say("limit.run", language, limit=amount_text(measure, value, language), setting=setting)


def amount_text(measure: str, value: float, language: str) -> str:
    """Return an amount of a budget's or a limit's measure, for people."""
    return (
        amount(measure, value) if measure == "cost_usd" else say(f"amount.{measure}", language, count=f"{value:,.0f}")
    )


def _budget(per: str, only: str | None, language: str) -> str:
    return say(f"budget.{'per' if only is None else 'of'}_{per}", language, only=only)
