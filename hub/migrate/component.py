"""The part of the hub that brings a home over; what does it is imported with the first plan."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hub.core.component import Component
from hub.core.first_use import FirstUse
from hub.core.phrases import phrase
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.entities.registry import HomeRegistry
from hub.foundation import Foundation
from hub.sessions.store import SessionStore

if TYPE_CHECKING:
    from hub.migrate.journal import Journal
    from hub.migrate.moves import Moves


class MigrateComponent(Component):
    """Makes plans, carries them out and takes them back.

    Args:
        registry: Gets areas.
        sessions: Gets conversations.
        reload: Puts changed files into force.
    """

    name = "migrate"

    def __init__(
        self,
        base: Foundation,
        *,
        registry: HomeRegistry,
        sessions: SessionStore,
        reload: Callable[[], Awaitable[Any]],
    ) -> None:
        self._base = base
        self._registry = registry
        self._sessions = sessions
        self._reload = reload
        self._moves: FirstUse[Moves] = FirstUse("moves", self._load)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that looks for a move that was cut off."""
        return [Stage("migrate", self._start)]

    def methods(self) -> MethodGroups:
        """Return `migrate.*`."""
        return {"migrate": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.migrate.methods import MigrateMethods

        return MigrateMethods(self._moves, str(self._base.home)).methods()

    def _load(self) -> Callable[[], Moves]:
        from hub.migrate.moves import Moves

        base = self._base
        return lambda: Moves(
            base.home.path,
            base.config.editor,
            registry=self._registry,
            sessions=self._sessions,
            clock=base.clock,
            reload=self._reload,
            changed=self._show,
        )

    async def _start(self) -> None:
        storage = self._base.home.storage
        await asyncio.to_thread(shutil.rmtree, storage / "moving_in", ignore_errors=True)
        if await asyncio.to_thread((storage / "moves").is_dir):
            moves = await self._moves.get()
            self._show(await moves.unfinished())

    def _show(self, cut: Journal | None) -> None:
        """Raise the repair for a move that was cut off, or clear it."""
        if cut is None:
            self._base.repairs.clear("migrate", "cut_off")
            return
        self._base.repairs.raise_(
            "migrate",
            "cut_off",
            phrase("Moving in was cut off"),
            phrase("The hub ended while {path} was being brought over. Take it back, then try again.", path=cut.path),
            command="homarus migrate undo",
        )
