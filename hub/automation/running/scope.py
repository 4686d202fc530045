"""The variables of a run, in scopes: what a loop or a parallel branch adds is visible only inside it.

The rules are those of Home Assistant: an assignment changes the variable in the nearest scope that has it; a name that
no scope has yet belongs to the whole run. `wait` belongs to the parallel branch that waited.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

WAIT = "wait"


class RunScope:
    """Variables that templates see at one place of a run.

    Args:
        local: The variables of this scope; it is kept and changed.
        parent: The scope around it; None for that of the whole run.
        branch: Whether it is that of a parallel branch, which keeps its own `wait`.
    """

    __slots__ = ("branch", "local", "parent", "view")

    def __init__(self, local: dict[str, Any], parent: RunScope | None = None, *, branch: bool = False) -> None:
        self.local = local
        self.parent = parent
        self.branch = branch
        self.view: Mapping[str, Any] = local if parent is None else ChainMap(local, *_maps(parent))
        """All variables seen here."""

    def assign(self, name: str, value: Any) -> None:
        """Change a variable where it is defined, else define it for the whole run."""
        scope = self
        while scope.parent is not None and name not in scope.local:
            scope = scope.parent
        scope.local[name] = value

    def assign_wait(self, value: Mapping[str, Any]) -> None:
        """Set `wait`: in the parallel branch that waited, else for the whole run."""
        scope = self
        while scope.parent is not None and not scope.branch:
            scope = scope.parent
        scope.local[WAIT] = value


def _maps(scope: RunScope) -> list[dict[str, Any]]:
    maps = [scope.local]
    while scope.parent is not None:
        scope = scope.parent
        maps.append(scope.local)
    return maps
