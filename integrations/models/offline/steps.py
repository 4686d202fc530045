"""What a turn is made of: something to say, a tool to call, and what tools gave back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call this tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool of this turn gave back."""

    tool: str
    output: str
    is_error: bool


Step = Say | Call
