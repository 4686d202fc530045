"""Models and provider credentials, as people manage them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from hub.agent.budgets.ledger import BudgetLedger
from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.core.tasks import TaskOwner
from hub.foundation import Foundation
from hub.models.accounts import ModelAccounts
from hub.models.component.models import ModelsComponent
from hub.storage.history import HistoryStore


class ModelAccountsComponent(Component):
    """Adds, tries and removes credentials, and changes fallbacks and aliases."""

    name = "model accounts"

    def __init__(
        self,
        base: Foundation,
        *,
        models: ModelsComponent,
        budgets: BudgetLedger,
        history: HistoryStore,
        apply: Callable[[ReloadResult], Awaitable[None]],
    ) -> None:
        self._tasks = TaskOwner("sign-ins")
        self._accounts = ModelAccounts(models.models, models.credentials, base.clock, self._tasks)
        self._base, self._models, self._budgets = base, models.models, budgets
        self._history, self._apply = history, apply
        self._refresh = models.refresh_list

    def stages(self) -> Sequence[Stage]:
        """Return the stage that cancels pending sign-ins."""
        return [Stage("sign-ins", None, self._close)]

    def methods(self) -> MethodGroups:
        """Return `models.*` and `usage.*`."""
        return {"models": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.models.adding import NewProviders
        from hub.models.methods.models import ModelMethods
        from hub.models.methods.usage import UsageMethods

        base, by_day = self._base, self._history.usage_by_day

        def used(days: int, sessions: bool) -> Awaitable[list[dict[str, Any]]]:
            return by_day(days, base.zone(), sessions=sessions)

        models = ModelMethods(
            self._models,
            self._accounts,
            NewProviders(base.config, self._models, self._apply),
            base.config,
            apply=self._apply,
            budgets=self._budgets.status,
            used=used,
            refresh=self._refresh,
        )
        usage = UsageMethods(
            self._models,
            lambda days, zone, sessions: by_day(days, zone, sessions=sessions),
            base.clock.time,
            base.zone,
        )
        return [*models.methods(), *usage.methods()]

    async def _close(self) -> None:
        await self._accounts.close()
        await self._tasks.cancel_all()
