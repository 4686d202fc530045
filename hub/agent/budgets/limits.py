"""Bounds on one run: model calls, tokens, money and time. Pure rules over what was spent."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.agent.budgets.budgets import RunBudget, amount
from hub.agent.budgets.repetition import Repetition
from hub.models.contract import Usage

DEFAULT_TURNS = 50
DEFAULT_TOKENS = 2_000_000
DEFAULT_COST_USD = 5.0
DEFAULT_SECONDS = 1_800.0
DEFAULT_CALLS = 500
DEFAULT_REPEATS = 10


class RunLimits(Struct, frozen=True):
    """The limits of one run; the keys are those of `agents[].limits`.

    Attributes:
        turns: Model calls.
        tokens: Tokens of all its model calls, in and out.
        cost_usd: US dollars, as far as prices are known.
        seconds: Wall time from its start; waiting for its turn does not count.
        calls: Tool calls.
        repeats: How often calls may repeat themselves (`hub.agent.budgets.repetition`); 0 for no limit.
    """

    turns: int = DEFAULT_TURNS
    tokens: int = DEFAULT_TOKENS
    cost_usd: float = DEFAULT_COST_USD
    seconds: float = DEFAULT_SECONDS
    calls: int = DEFAULT_CALLS
    repeats: int = DEFAULT_REPEATS


class RunSpent(Struct, frozen=True):
    """The spending of a run so far.

    Attributes:
        turns: Model calls.
        tokens: Tokens, estimated for calls without a count from the provider.
        usage: The usage, as reported by the providers.
        calls: Tool calls.
    """

    turns: int = 0
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    calls: int = 0

    def plus(self, usage: Usage, estimated_tokens: int) -> RunSpent:
        """Return the spending after one more model call."""
        tokens = self.tokens + (usage.total_tokens or estimated_tokens)
        return RunSpent(self.turns + 1, tokens, self.usage + usage, self.calls)

    def with_tool_calls(self, calls: int) -> RunSpent:
        """Return the spending after some more tool calls."""
        return replace(self, calls=self.calls + calls)


class LimitHit(Struct, frozen=True):
    """A limit that was reached.

    Attributes:
        name: Its key under `agents[].limits`, or the measure of a budget.
        limit, spent: The allowed and the actual amount.
        repeated: The repeated call.
        budget: The budget that forbids it, instead of a limit of the run.
    """

    name: str
    limit: float
    spent: float
    repeated: Repetition | None = None
    budget: RunBudget | None = None

    @property
    def details(self) -> dict[str, Any]:
        """The facts as plain data, for translation."""
        setting = "budgets" if self.budget is not None else f"agents[].limits.{self.name}"
        found: dict[str, Any] = {"limit": setting, "value": self.limit, "measure": self.name, "spent": self.spent}
        if self.budget is not None:
            found |= self.budget.about
        if self.repeated is not None:
            found |= {"repeats": self.repeated.kind.value, "tools": list(self.repeated.tools)}
        return found

    @property
    def message(self) -> str:
        """The message for people: which limit was reached and where it is changed."""
        if self.budget is not None:
            return (
                f"The budget {self.budget.label} is used up: {amount(self.name, self.spent)} of "
                f"{amount(self.name, self.limit)}. The owner can raise it (budgets in the configuration)."
            )
        if self.repeated is not None:
            return (
                f"This run was stopped because it went round in circles: {self.repeated.description}, {self.spent:g} "
                f"times (agents[].limits.{self.name}). Say what it should do differently."
            )
        what = {
            "turns": f"{self.limit:g} model calls",
            "tokens": f"{self.limit:,.0f} tokens",
            "cost_usd": f"{self.limit:g} US dollars",
            "seconds": f"{self.limit:g} seconds",
            "calls": f"{self.limit:g} tool calls",
        }[self.name]
        return (
            f"This run was stopped after {what}, its limit (agents[].limits.{self.name}). "
            "Say “go on” to let it continue, or raise the limit."
        )


def limit_reached(limits: RunLimits, spent: RunSpent) -> LimitHit | None:
    """Return the limit that forbids another model call, or None."""
    if spent.turns >= limits.turns:
        return LimitHit("turns", limits.turns, spent.turns)
    if spent.tokens >= limits.tokens:
        return LimitHit("tokens", limits.tokens, spent.tokens)
    if spent.calls >= limits.calls:
        return LimitHit("calls", limits.calls, spent.calls)
    cost = spent.usage.cost_usd
    if cost is not None and cost >= limits.cost_usd:
        return LimitHit("cost_usd", limits.cost_usd, cost)
    return None
