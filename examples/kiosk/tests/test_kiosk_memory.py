"""The memory keeps what it is told, in place of the notes."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub

INTEGRATION = Path(__file__).parents[1]


def test_what_is_remembered_is_found_and_forgotten() -> None:
    configuration = {"hub": {"disabled": ["notes"]}, "kiosk": {"keeps_memory": True}}
    with running_hub(INTEGRATION, configuration) as hub:
        hub.call("memory.add", {"text": "The boiler was serviced on 12 May."})
        found = hub.call("memory.search", {"query": "when was the boiler serviced?"})
        hub.call("memory.forget", {"query": "boiler"})
        left = hub.call("memory.search", {"query": "boiler"})

    assert found["engines"] == ["diary"]
    assert [hit["text"] for hit in found["hits"]] == ["The boiler was serviced on 12 May."]
    assert left["hits"] == []
