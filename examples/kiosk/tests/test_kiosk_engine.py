"""The engine finds parts of words."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_what_is_remembered_is_found_by_a_part_of_a_word() -> None:
    with running_hub(INTEGRATION, {"kiosk": {}, "memory": {"keywords": "kiosk"}}) as hub:
        hub.call("memory.add", {"text": "The boilermaker came at nine."})
        hub.call("memory.index", {})
        found = hub.call("memory.search", {"query": "oilermake"})

    assert "keywords:substrings" in found["engines"]
    assert "boilermaker" in found["hits"][0]["text"]
