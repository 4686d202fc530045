"""The canvas of each agent: its present content."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hub.agent.agents import Agents
from hub.agent.workspace.workspace import CANVAS
from integrations.tools.canvas.surfaces import Surfaces

FOLDER = CANVAS
"""The folder of a workspace whose files are shown."""
TOKEN_BYTES = 24


@dataclass
class Canvas:
    """An agent's canvas.

    Attributes:
        token: The unguessable path of its files on the canvas's origin; a restart changes it.
        visible: Whether something is presented.
        path: The file that is shown, relative to the folder.
        url: An external address that is shown instead of a file.
        surfaces: The A2UI surfaces.
        loads: Grows when the file is to be loaded again.
    """

    agent: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    visible: bool = False
    path: str = ""
    url: str = ""
    surfaces: Surfaces = field(default_factory=dict)
    loads: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The canvas as a tab shows it."""
        return {
            "t": "show",
            "visible": self.visible,
            "src": f"/{self.token}/{self.path}" if self.path else "",
            "base": f"/{self.token}/",
            "url": self.url,
            "surfaces": [each.as_dict() for each in self.surfaces.values()] if self.visible else [],
            "loads": self.loads,
        }


class Canvases:
    """The canvases of all agents.

    Args:
        agents: The agents as configured now.
    """

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._canvases: dict[str, Canvas] = {}
        self._latest = ""
        self.changed: Callable[[Canvas], None] = lambda canvas: None
        """Called at each change."""

    def of(self, agent: str) -> Canvas:
        """Return the canvas of an agent.

        Raises:
            NotFound: There is no such agent.
        """
        id = self._agents.get(agent).id
        return self._canvases.setdefault(id, Canvas(id))

    def latest(self) -> Canvas:
        """Return the canvas that was presented last, or that of the default agent."""
        return self.of(self._latest or self._agents.default().id)

    def by_token(self, token: str) -> Canvas | None:
        """Return the canvas with this token."""
        found = (
            each for each in self._canvases.values() if secrets.compare_digest(each.token.encode(), token.encode())
        )
        return next(found, None)

    def show(self, canvas: Canvas, **changes: Any) -> None:
        """Change the content of a canvas, and notify the tabs."""
        for name, value in changes.items():
            setattr(canvas, name, value)
        if canvas.visible:
            self._latest = canvas.agent
        self.changed(canvas)
