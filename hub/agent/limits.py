"""Bounds on one run: model calls, tokens, money and time. Pure rules over what was spent."""

from __future__ import annotations

from msgspec import Struct, field

from hub.models.contract import Usage

DEFAULT_TURNS = 50
DEFAULT_TOKENS = 2_000_000
DEFAULT_COST_USD = 5.0
DEFAULT_SECONDS = 1_800.0


class RunLimits(Struct, frozen=True):
    """What one run may spend; the keys are those of `agents[].limits`.

    Attributes:
        turns: Model calls.
        tokens: Tokens of all its model calls, in and out.
        cost_usd: US dollars, as far as prices are known.
        seconds: Wall time from its start; waiting for its turn does not count.
    """

    turns: int = DEFAULT_TURNS
    tokens: int = DEFAULT_TOKENS
    cost_usd: float = DEFAULT_COST_USD
    seconds: float = DEFAULT_SECONDS


class RunSpent(Struct, frozen=True):
    """The spending of a run so far.

    Attributes:
        turns: Model calls.
        tokens: Tokens, estimated for calls without a count from the provider.
        usage: As reported by the providers.
    """

    turns: int = 0
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)

    def plus(self, usage: Usage, estimated_tokens: int) -> RunSpent:
        """Return what is spent after one more model call."""
        return RunSpent(self.turns + 1, self.tokens + (usage.total_tokens or estimated_tokens), self.usage + usage)


class LimitHit(Struct, frozen=True):
    """A limit that was reached; `name` is its key under `agents[].limits`."""

    name: str
    limit: float
    spent: float

    @property
    def message(self) -> str:
        """What happened and where it is changed, for people."""
        what = {
            "turns": f"{self.limit:g} model calls",
            "tokens": f"{self.limit:,.0f} tokens",
            "cost_usd": f"{self.limit:g} US dollars",
            "seconds": f"{self.limit:g} seconds",
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
    cost = spent.usage.cost_usd
    if cost is not None and cost >= limits.cost_usd:
        return LimitHit("cost_usd", limits.cost_usd, cost)
    return None
