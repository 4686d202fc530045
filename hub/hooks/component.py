"""The component of hooks: their registry, the home's hooks, and the observers of the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.core.tasks import TaskOwner
from hub.foundation import Foundation
from hub.hooks.from_bus import observe_bus
from hub.hooks.home_hooks import FOLDER, PINS_FILE, HomeHooks, HookState
from hub.hooks.registry import Hooks
from hub.hooks.tool_calls import ToolCallHooks
from hub.skills.pins import SkillPins
from hub.skills.watch import watch_folders
from hub.tools.registry import ToolRegistry

BUNDLED = Path(__file__).resolve().parent / "bundled"
STOP_LIMIT_S = 2.0
"""How long the stop waits for handlers that observe."""
_DAMAGED = "pins"


class HooksComponent(Component):
    """The hooks of integrations and of the home."""

    name = "hooks"

    def __init__(self, base: Foundation, *, tools: ToolRegistry) -> None:
        self._base = base
        self.hooks = Hooks(TaskOwner("hooks"))
        self._home = HomeHooks(
            base.home.path / FOLDER,
            SkillPins(base.home.storage, PINS_FILE, documents=base.home.documents),
            self.hooks,
            self._looked,
            bundled=BUNDLED,
        )
        self._reported: set[str] = set()
        self._moved = asyncio.Event()
        self._watching = False
        tools.around = ToolCallHooks(self.hooks)
        observe_bus(base.bus, self.hooks)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that loads the hooks of the home, before anything can be asked of the hub."""
        return [Stage("hooks", self._start, self._stop, stop_limit_s=STOP_LIMIT_S + 1.5)]

    def methods(self) -> MethodGroups:
        """Return `hooks.*`."""
        return {"hooks": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.hooks.methods import HookMethods

        return HookMethods(self._home, self.hooks, lambda: int(self._base.clock.time() * 1_000)).methods()

    async def _start(self) -> None:
        await self._refresh()
        self._base.tasks.spawn(watch_folders(self._watched, self._moved, self._refresh), name="watch the hooks")

    async def _stop(self) -> None:
        await self.hooks.drain(STOP_LIMIT_S)

    async def _refresh(self) -> None:
        """Reload the hooks of the home; damaged pins raise a repair, and then no hook is called."""
        try:
            await self._home.refresh()
        except HubError as error:
            title = phrase("The hooks of the home are off")
            self._base.repairs.raise_("hooks", _DAMAGED, title, error.message)

    def _watched(self) -> list[Path]:
        self._watching = self._home.folder.is_dir()
        return [self._home.folder] if self._watching else []

    def _looked(self) -> None:
        """Raise a repair for each hook that is off because it changed, or that cannot be loaded."""
        repairs = self._base.repairs
        bad = {each.name: each for each in self._home.all() if each.state in (HookState.CHANGED, HookState.BROKEN)}
        repairs.clear("hooks", _DAMAGED)
        for name in self._reported - bad.keys():
            repairs.clear("hooks", name)
        for name, hook in bad.items():
            if hook.state is HookState.CHANGED:
                title = phrase("The hook {hook} was changed and is off", hook=name)
                told = phrase("Its files are not those that you enabled. Look at it, then enable it again.")
                if hook.guards:
                    told = phrase(
                        "It decided about tool calls, and its files are not those that you enabled. All tool calls are "
                        "refused until you look at it and enable it again, or disable it."
                    )
                repairs.raise_("hooks", name, title, told, command=f"homarus hooks enable {name}")
            else:
                repairs.raise_("hooks", name, phrase("The hook {hook} does not work", hook=name), hook.error)
        self._reported = set(bad)
        if not self._watching and self._home.folder.is_dir():
            self._moved.set()
