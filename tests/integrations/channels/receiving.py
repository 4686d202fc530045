"""The hub's side of a channel that is tried alone: it records messages, and can refuse them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.messaging.contract import Inbound, InboundMessage, Receipt

T = TypeVar("T")


class HastyClock(Clock):
    """A clock by which nobody waits long."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


@dataclass
class Collected:
    """A receiver that outlives the channels it is given to.

    Attributes:
        welcome: Who is let in; everybody without it.
        full: How often storing fails from now on.
    """

    inbound: list[Inbound] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    welcome: Callable[[Inbound], bool] = lambda inbound: True
    full: int = 0
    account_id: str | None = None
    errors: list[tuple[str, bool]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    steps: int = 0

    async def __call__(self, inbound: Inbound) -> Receipt:
        if self.full:
            self.full -= 1
            raise Unavailable("the disk is full")
        self.inbound.append(inbound)
        return Receipt(str(len(self.inbound)), accepted=self.welcome(inbound))

    def admits(self, inbound: Inbound) -> bool:
        return self.welcome(inbound)

    def identified(self, account_id: str | None, name: str | None = None) -> None:
        self.account_id = account_id or self.account_id

    def connected(self) -> None:
        self.states.append("connected")

    def progress(self) -> None:
        self.steps += 1

    def disconnected(self, error: str, *, permanent: bool = False) -> None:
        self.errors.append((error, permanent))
        self.states.append("disconnected")

    async def cursor(self, name: str = "position") -> str | None:
        return self.cursors.get(name)

    async def keep_cursor(self, value: str, name: str = "position") -> None:
        self.cursors[name] = value

    @property
    def messages(self) -> list[InboundMessage]:
        """What was said, in order."""
        return [each for each in self.inbound if isinstance(each, InboundMessage)]

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.messages]

    def of(self, kind: type[T]) -> list[T]:
        """What came of a kind, in order."""
        return [each for each in self.inbound if isinstance(each, kind)]
