"""Live reload: while somebody looks at a canvas, its page is loaded again when a file of it changes."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from hub.core.file_changes import WatchOptions, file_changes
from integrations.tools.canvas.canvases import FOLDER, Canvases

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_log = logging.getLogger(__name__)

OPTIONS = WatchOptions(debounce_ms=400, step_ms=50, ignore_permission_denied=True)


class Reloading:
    """Watches the folders of the canvases that somebody looks at.

    Args:
        host: Owns the tasks.
        canvases: Are loaded again.
    """

    def __init__(self, host: IntegrationHost, canvases: Canvases) -> None:
        self._host = host
        self._canvases = canvases
        self._watched: dict[str, asyncio.Event] = {}

    def watch(self, agents: set[str]) -> None:
        """Watch the canvases of these agents and no others."""
        for agent in [each for each in self._watched if each not in agents]:
            self._watched.pop(agent).set()
        for agent in agents.difference(self._watched):
            stop = self._watched[agent] = asyncio.Event()
            self._host.spawn(self._follow(agent, stop), name=f"watch the canvas of {agent}")

    async def _follow(self, agent: str, stop: asyncio.Event) -> None:
        folder = self._host.agents.get(agent).workspace / FOLDER
        try:
            await asyncio.to_thread(_make, folder)
            changes = await file_changes([folder], None, stop, OPTIONS)
        except OSError as error:
            _log.warning("the canvas is not loaded again by itself: %s cannot be watched: %s", folder, error)
            return
        try:
            async for _ in changes:
                canvas = self._canvases.of(agent)
                self._canvases.show(canvas, loads=canvas.loads + 1)
        finally:
            await changes.aclose()


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
