"""What the line of a satellite needs of the registry."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.voice.engines import VoiceEngines
from hub.voice.nearest import NearestRule
from hub.voice.settings import VoiceSettings
from hub.voice.turn import Turn
from hub.voice.wake import WakeEngines

LineT_contra = TypeVar("LineT_contra", contravariant=True)
"""The line of a satellite."""


class LineHome(Protocol[LineT_contra]):
    """What a line needs of the registry."""

    clock: Clock
    engines: VoiceEngines
    nearest: NearestRule
    settings: VoiceSettings
    tasks: TaskOwner
    wake_engines: WakeEngines

    def describe(self, line: LineT_contra) -> None:
        """Take over what a device says of itself, and its room."""

    def show(self, line: LineT_contra) -> None:
        """Show what a satellite does in its entity."""

    def tell(self, line: LineT_contra, turn: Turn, stage: str, about: dict[str, Any]) -> None:
        """Tell of a stage of a turn."""

    def fire_stopped(self, id: str) -> None:
        """Tell that what sounds there is to end."""

    async def answer_ring(self, id: str, text: str) -> str | None:
        """Put off what has just rung at a satellite, if a text says so; return what is said to that."""

    def keep(self, turn: Turn) -> None:
        """Keep a turn that has ended."""

    def abort(self, run_id: str) -> None:
        """Stop a run."""

    def prepare(self, line: LineT_contra) -> None:
        """Have what answers there ready before the first sentence."""

    def language_of(self, person: str | None) -> str:
        """Return what a person speaks, else the home's language."""
        ...

    async def deliver(self, line: LineT_contra, turn: Turn, note: str) -> None:
        """Have what was said answered."""
