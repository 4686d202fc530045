"""Sessions and messages as the protocol shows them."""

from __future__ import annotations

import pytest

from hub.agent.conversation.conversation import message_data
from hub.agent.conversation.side_note import side_note
from hub.models.contract import user_message
from hub.sessions.entry import message_entry
from hub.sessions.keys import direct_key, group_key, main_key
from hub.sessions.methods.session_shapes import message_payload, preview, session_payload
from hub.sessions.session import Session, SessionOrigin

NOTE = side_note("r-memory", "Recalled", 1_000, channel="memory")
WORDS = message_entry(
    user_message("When was it?"), 1_000, data=message_data(channel="telegram", sender="Me", trusted=True)
)


def test_what_the_hub_put_in_by_itself_is_told_from_what_a_person_said() -> None:
    assert message_payload(NOTE)["note"] == "memory"
    assert "note" not in message_payload(WORDS)


def test_a_preview_shows_what_was_said_alone() -> None:
    assert [item["text"] for item in preview([NOTE, WORDS], 5, 100)] == ["When was it?"]


def test_a_session_tells_where_its_last_message_came_from_and_where_answers_go() -> None:
    origin = SessionOrigin("telegram", "work", "-100", "7", None, "telegram:user:1", "Anna", "Family")
    key = group_key("main", "telegram", "-100", thread="7")

    row = session_payload(Session(key, "s", "main", 1, 2, origin=origin, aborted=True, turns=1))

    assert row["displayName"] == "Family · 7"
    assert (row["lastChannel"], row["lastTo"], row["lastAccountId"], row["lastThreadId"]) == (
        "telegram",
        "-100",
        "work",
        "7",
    )
    assert row["deliveryContext"] == {"channel": "telegram", "to": "-100", "accountId": "work", "threadId": "7"}
    assert row["origin"] == {
        "label": "Family",
        "provider": "telegram",
        "chatType": "group",
        "from": "telegram:user:1",
        "to": "-100",
        "accountId": "work",
        "threadId": "7",
    }
    assert (row["subject"], row["room"], "space" in row) == ("Family", "-100", False)
    assert (row["systemSent"], row["abortedLastRun"]) == (True, True)


def test_a_session_in_a_topic_is_called_by_names_instead_of_ids() -> None:
    told = ("telegram:user:1", "Anna", "Family", "Holidays", "Home")
    origin = SessionOrigin("telegram", "work", "-100", "7", "T1", *told)
    key = group_key("main", "telegram", "-100", thread="7")

    row = session_payload(Session(key, "s", "main", 1, 2, origin=origin))

    assert row["displayName"] == "Family · Holidays"
    assert (row["channel"], row["subject"], row["topic"], row["space"]) == ("telegram", "Family", "Holidays", "Home")


@pytest.mark.parametrize(
    ("key", "title", "shown"),
    [
        (direct_key("main", "1", channel="telegram"), None, "Anna B"),
        (direct_key("main", "1", channel="telegram"), "Holiday", "Holiday"),
        (group_key("main", "telegram", "-100"), None, None),
        (main_key("main"), None, None),
    ],
)
def test_a_conversation_has_the_name_of_who_it_is_with_unless_it_has_a_title(
    key: str, title: str | None, shown: str | None
) -> None:
    origin = SessionOrigin("telegram", peer="1", sender_name="Anna\n\u202eB")

    assert Session(key, "s", "main", 1, 2, title=title, origin=origin).name == shown


def test_what_an_older_version_wrote_of_a_session_is_read() -> None:
    row = ("agent:main:main", "s", "main", 1, 2)

    old = Session.from_row(row, {"channel": "telegram"})

    assert old.origin == SessionOrigin("telegram")
    assert Session.from_row(row, old.data()) == old
    assert Session.from_row(row, {"channel": None}).origin is None
