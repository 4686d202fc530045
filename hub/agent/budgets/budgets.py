"""Budgets over runs: what a conversation, an agent, a channel or the home may spend. Pure rules; `ledger` counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

WARN_AT = 0.8
MEASURES = ("turns", "tokens", "cost_usd", "seconds", "calls")


class BudgetPer(StrEnum):
    """The scope of a budget; budgets of an agent, a channel and a day start again each day."""

    RUN = "run"
    SESSION = "session"
    AGENT = "agent"
    CHANNEL = "channel"
    DAY = "day"


class BudgetAction(StrEnum):
    """What happens when a budget is used up."""

    WARN = "warn"
    DEGRADE = "degrade"
    STOP = "stop"


class Spending(Struct, frozen=True):
    """What was spent; the fields are the measures of a budget."""

    turns: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    calls: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(*(getattr(self, name) + getattr(other, name) for name in MEASURES))


class RunBudget(Struct, frozen=True):
    """One budget.

    Attributes:
        per: Its scope.
        limits: Its measures, by name.
        only: The one agent or channel that it is for; None for each of them.
        warn_at: The share from which people are warned.
        then: What happens when it is used up.
        model: The model that answers then, for `degrade`.
    """

    per: BudgetPer
    limits: Mapping[str, float]
    only: str | None = None
    warn_at: float = WARN_AT
    then: BudgetAction = BudgetAction.STOP
    model: str | None = None

    @property
    def label(self) -> str:
        """Its name for people."""
        return f"per {self.per.value}" if self.only is None else f"of {self.per.value} {self.only}"

    @property
    def about(self) -> dict[str, str | None]:
        """The scope of the budget as plain data, for translation."""
        return {"per": self.per.value, "only": self.only}


class BudgetState(Struct, frozen=True):
    """How much of a budget is used, by its most used measure."""

    budget: RunBudget
    measure: str
    spent: float
    limit: float

    @property
    def share(self) -> float:
        """The used share; 1 or more when it is used up."""
        return self.spent / self.limit

    def as_dict(self) -> dict[str, Any]:
        """The state as plain data, for a notice to people."""
        return {
            "budget": self.budget.label,
            "used": f"{min(self.share, 9.99):.0%}",
            "spent": amount(self.measure, self.spent),
            "limit": amount(self.measure, self.limit),
            **self.budget.about,
            "measure": self.measure,
            "spent_amount": self.spent,
            "limit_amount": self.limit,
        }


class Verdict(Struct, frozen=True):
    """The decision of the budgets about another model call.

    Attributes:
        stop: The budget that forbids it.
        degrade: The budget that wants a cheaper model.
        told: Budgets to notify people about: nearly used, or used up without ending the run.
    """

    stop: BudgetState | None = None
    degrade: BudgetState | None = None
    told: tuple[BudgetState, ...] = field(default_factory=tuple)


def decide(budgets: Sequence[RunBudget], spent: Callable[[RunBudget], Spending | None]) -> Verdict:
    """Return the decision of the budgets; `spent` returns what counts for one, None if it does not apply."""
    stop: BudgetState | None = None
    degrade: BudgetState | None = None
    told: list[BudgetState] = []
    for budget in budgets:
        spending = spent(budget)
        if spending is None:
            continue
        state = max(
            (BudgetState(budget, name, getattr(spending, name), limit) for name, limit in budget.limits.items()),
            key=lambda each: each.share,
        )
        if state.share >= 1 and budget.then is BudgetAction.STOP:
            stop = stop or state
        elif state.share >= budget.warn_at:
            told.append(state)
            if state.share >= 1 and budget.then is BudgetAction.DEGRADE:
                degrade = degrade if degrade is not None and degrade.share >= state.share else state
    return Verdict(stop, degrade, tuple(told))


def amount(measure: str, value: float) -> str:
    """Return an amount formatted for people."""
    match measure:
        case "cost_usd":
            return f"${value:.2f}" if value >= 0.1 else f"${value:.4f}"
        case "seconds":
            return f"{value:,.0f} s"
        case "turns":
            return f"{value:,.0f} model calls"
        case "calls":
            return f"{value:,.0f} tool calls"
        case _:
            return f"{value:,.0f} tokens"


def budgets_from_config(section: Sequence[Mapping[str, Any]]) -> tuple[RunBudget, ...]:
    """Return the budgets of the validated section `budgets:`."""
    return tuple(
        RunBudget(
            BudgetPer(item["per"]),
            {name: float(item[name]) for name in MEASURES if name in item},
            item.get("only"),
            item["warn_at"],
            BudgetAction(item["then"]),
            item.get("model"),
        )
        for item in section
    )
