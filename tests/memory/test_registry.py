"""One memory at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.core.errors import Conflict, Unavailable
from hub.memory.registry import MemoryRegistry
from hub.security.root import Root
from integrations.memory.notes.memory import NotesMemory


def test_there_is_one_memory_and_it_can_be_taken_away(tmp_path: Path) -> None:
    registry, memory = (
        MemoryRegistry(),
        NotesMemory(lambda agent_id: Root(tmp_path), history_of=lambda agent_id: tmp_path),
    )

    remove = registry.register(memory)

    assert registry.require() is memory
    with pytest.raises(Conflict):
        registry.register(memory)
    remove()
    remove()
    assert registry.current is None


def test_without_a_memory_it_says_so() -> None:
    with pytest.raises(Unavailable, match="an integration brings one"):
        MemoryRegistry().require()
