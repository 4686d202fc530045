"""The configuration files: their watch, and the methods that read and change them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation


class ConfigWatchComponent(Component):
    """Reads changed files, and has `apply` put them into force.

    Args:
        before: Awaited before changed files are read.
    """

    name = "config watch"
    in_recovery = True

    def __init__(
        self,
        base: Foundation,
        *,
        apply: Callable[[ReloadResult], Awaitable[None]],
        before: Callable[[], Awaitable[None]],
    ) -> None:
        self._base = base
        self._apply = apply
        self._before = before

    def methods(self) -> MethodGroups:
        """Return the methods about the configuration files, and about the configured rules for commands."""
        return {"config": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.config.methods import ConfigMethods
        from hub.tools.methods.exec_policy import ExecPolicyMethods

        config = self._base.config
        return [*ConfigMethods(config, self._base.redactor).methods(), *ExecPolicyMethods(config).methods()]

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the watch."""
        return [Stage("watch of the configuration", self._watch)]

    async def _watch(self) -> None:
        await self._base.config.watch(self._base.tasks, self._apply, self._before)
