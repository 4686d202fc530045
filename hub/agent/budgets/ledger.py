"""The ledger of budgets: counts the spending of runs, across restarts. Without budgets it counts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from msgspec import Struct

from hub.agent.budgets.budgets import (
    MEASURES,
    BudgetPer,
    BudgetState,
    RunBudget,
    Spending,
    Verdict,
    budgets_from_config,
    decide,
)
from hub.core.clock import Clock
from hub.core.sql import SqlConnection
from hub.storage.database import Database

COUNTS_LIMIT = 5_000
TOLD_LIMIT = 10_000
KEPT_DAYS_S = 90 * 86_400.0


class BudgetPlace(Struct, frozen=True):
    """What spending is counted for: a session, an agent, a channel or the home, and the day if it counts by day."""

    per: str
    name: str
    day: str = ""


class Spender(Struct, frozen=True):
    """The ids of a run that spends."""

    run_id: str
    session_key: str
    session_id: str | None
    agent_id: str
    channel: str | None


class BudgetLedger:
    """Counts spending, and decides what may still be spent.

    Args:
        clock: The clock of the hub.
        zone: Returns the home's time zone, in which a day begins.
        db: Stores counts; without it they end with the process.

    Attributes:
        budgets: All of them; while there are none, nothing need be charged and judged.
    """

    def __init__(self, clock: Clock, zone: Callable[[], tzinfo], db: Database | None = None) -> None:
        self._clock = clock
        self._zone = zone
        self._db = db
        self.budgets: tuple[RunBudget, ...] = ()
        self._counts: dict[BudgetPlace, Spending] = {}
        self._told: set[tuple[str, BudgetPlace, str, bool]] = set()

    def configure(self, section: Sequence[Mapping[str, Any]]) -> None:
        """Replace the validated section `budgets:`."""
        self.budgets = budgets_from_config(section)

    async def load(self) -> None:
        """Load the counts of earlier processes, and delete old ones.

        Raises:
            HubError: The database cannot be read.
        """
        if self._db is None:
            return
        today, oldest = self._today(), self._clock.time() - KEPT_DAYS_S

        def read(connection: SqlConnection) -> list[tuple[Any, ...]]:
            connection.execute(
                "DELETE FROM budget_spending WHERE (day <> '' AND day < ?) OR updated < ?", (today, oldest)
            )
            return connection.execute(
                "SELECT per, name, day, turns, tokens, cost_usd, seconds, calls FROM budget_spending"
                " ORDER BY updated DESC LIMIT ?",
                (COUNTS_LIMIT,),
            ).fetchall()

        for per, name, day, *numbers in reversed(await self._db.write(read)):
            self._counts[BudgetPlace(per, name, day)] = Spending(*numbers)

    def charge(self, spender: Spender, spending: Spending) -> None:
        """Count the spending of a run."""
        places = {place for budget in self.budgets if (place := self._place(budget, spender)) is not None}
        if not places:
            return
        rows = []
        for place in places:
            count = self._counts.pop(place, Spending()) + spending
            self._counts[place] = count
            if place.per != BudgetPer.RUN:
                numbers = tuple(getattr(count, name) for name in MEASURES)
                rows.append((place.per, place.name, place.day, *numbers, self._clock.time()))
        while len(self._counts) > COUNTS_LIMIT:
            del self._counts[next(iter(self._counts))]
        if self._db is not None and rows:
            self._db.post(lambda connection: _write(connection, rows))

    def judge(self, spender: Spender) -> Verdict:
        """Return the decision of the budgets about another model call; each warning comes once per conversation."""
        if not self.budgets:
            return Verdict()

        def spent(budget: RunBudget) -> Spending | None:
            place = self._place(budget, spender)
            return None if place is None else self._counts.get(place, Spending())

        verdict = decide(self.budgets, spent)
        told = tuple(state for state in verdict.told if self._is_news(state, spender))
        return Verdict(verdict.stop, verdict.degrade, told)

    def status(self) -> list[dict[str, Any]]:
        """Return the budgets and how far each is used, as plain data."""
        today = self._today()
        shown = []
        for budget in self.budgets:
            counts = [
                {"name": place.name, **{name: getattr(count, name) for name in MEASURES}}
                for place, count in self._counts.items()
                if place.per == budget.per and place.day in ("", today) and budget.only in (None, place.name)
            ]
            shown.append(
                {
                    "per": budget.per.value,
                    "only": budget.only,
                    "limits": dict(budget.limits),
                    "warn_at": budget.warn_at,
                    "then": budget.then.value,
                    "model": budget.model,
                    "spent": counts[-20:],
                }
            )
        return shown

    def forget(self, run_id: str) -> None:
        """Drop the count of a run that has ended."""
        self._counts.pop(BudgetPlace(BudgetPer.RUN.value, run_id), None)

    def _is_news(self, state: BudgetState, spender: Spender) -> bool:
        place = self._place(state.budget, spender)
        if place is None:
            return False
        budget = f"{state.budget.per}{state.budget.only}{sorted(state.budget.limits.items())}"
        key = (budget, place, spender.session_key, state.share >= 1)
        if key in self._told:
            return False
        if len(self._told) >= TOLD_LIMIT:
            self._told.clear()
        self._told.add(key)
        return True

    def _place(self, budget: RunBudget, spender: Spender) -> BudgetPlace | None:
        """Return the place that a budget counts for a run; None if the budget does not apply."""
        match budget.per:
            case BudgetPer.RUN:
                return BudgetPlace(budget.per.value, spender.run_id) if spender.run_id else None
            case BudgetPer.SESSION:
                return BudgetPlace(budget.per.value, spender.session_id) if spender.session_id else None
            case BudgetPer.AGENT:
                name: str | None = spender.agent_id
            case BudgetPer.CHANNEL:
                name = spender.channel
            case BudgetPer.DAY:
                name = ""
        if name is None or budget.only not in (None, name):
            return None
        return BudgetPlace(budget.per.value, name, self._today())

    def _today(self) -> str:
        return datetime.fromtimestamp(self._clock.time(), self._zone()).date().isoformat()


def _write(connection: SqlConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    connection.executemany(
        "INSERT INTO budget_spending(per, name, day, turns, tokens, cost_usd, seconds, calls, updated)"
        " VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT(per, name, day) DO UPDATE SET turns = excluded.turns,"
        " tokens = excluded.tokens, cost_usd = excluded.cost_usd, seconds = excluded.seconds,"
        " calls = excluded.calls, updated = excluded.updated",
        rows,
    )
