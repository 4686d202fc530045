"""What a family of devices publishes, and what a home has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Captured:
    """Messages of a family of devices.

    Attributes:
        said: Topics and payloads, in order; mappings are JSON.
        states: Entities that there must be then, and no others, with their states.
        attributes: Some of their attributes.
        commands: Services with their data, and what must be published for each.
        later: Further messages, and states after them.
    """

    name: str
    said: Sequence[tuple[str, Any]]
    states: Mapping[str, str]
    attributes: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    commands: Sequence[tuple[str, Mapping[str, Any], str, str]] = ()
    later: Sequence[tuple[str, Any, str, str]] = ()
