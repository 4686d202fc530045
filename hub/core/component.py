"""The contract of a component: the interface of each part of the hub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hub.core.stages import Stage
from hub.core.surfaces import MethodGroups, RouteGroups


class Component:
    """A part of the hub. Dependencies come through its constructor; everything else is optional.

    Attributes:
        name: Its name.
        sections: The sections of the configuration that it owns.
        follows: Sections of others that it reads too.
        follows_all: Whether it follows every change, after those that own or follow what changed.
        in_recovery: Whether it runs in recovery mode too.
    """

    name: str
    sections: frozenset[str] = frozenset()
    follows: frozenset[str] = frozenset()
    follows_all: bool = False
    in_recovery: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether something is under way in it that a stop would interrupt, such as a run or a question."""
        return False

    @property
    def due(self) -> float | None:
        """When something of it is due next, seconds since the epoch; it may be stopped until then."""
        return None

    def stages(self) -> Sequence[Stage]:
        """Return its steps at start and stop, in order."""
        return ()

    async def apply(self, changed: frozenset[str]) -> None:
        """Put a changed configuration into force; `changed` names all sections that changed."""

    def methods(self) -> MethodGroups:
        """Return the groups of its gateway methods, made on first use."""
        return {}

    def routes(self) -> RouteGroups:
        """Return the groups of its HTTP routes, made on the first request."""
        return {}


def stages_of(components: Iterable[Component]) -> list[Stage]:
    """Return the stages of all components, in order."""
    return [stage for component in components for stage in component.stages()]


async def apply_to(components: Sequence[Component], changed: frozenset[str]) -> None:
    """Put changed sections into force: first where they are owned or followed, then where all changes are followed."""
    for component in components:
        if not component.follows_all and changed & (component.sections | component.follows):
            await component.apply(changed)
    for component in components:
        if component.follows_all:
            await component.apply(changed)
