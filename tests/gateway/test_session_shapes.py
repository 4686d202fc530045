"""Sessions and messages as the protocol shows them."""

from __future__ import annotations

from hub.agent.conversation.conversation import message_data
from hub.agent.conversation.side_note import side_note
from hub.models.contract import user_message
from hub.sessions.entry import message_entry
from hub.sessions.methods.session_shapes import message_payload, preview

NOTE = side_note("r-memory", "Recalled", 1_000, channel="memory")
WORDS = message_entry(
    user_message("When was it?"), 1_000, data=message_data(channel="telegram", sender="Me", trusted=True)
)


def test_what_the_hub_put_in_by_itself_is_told_from_what_a_person_said() -> None:
    assert message_payload(NOTE)["note"] == "memory"
    assert "note" not in message_payload(WORDS)


def test_a_preview_shows_what_was_said_alone() -> None:
    assert [item["text"] for item in preview([NOTE, WORDS], 5, 100)] == ["When was it?"]
