"""The list of conversations: its order, and that a list of thousands reads no more than what it shows."""

from __future__ import annotations

from hub.sessions.keys import SessionKey
from hub.sessions.session import Session
from web.chat.talk_list import channels_of, top_conversations

MANY = 10_000


def talk(number: int, channel: str = "webchat", title: str | None = None, *, pinned: bool = False) -> Session:
    key, id = f"agent:main:{channel}:direct:p{number:05d}", f"{number:032x}"
    return Session(key, id, "main", created_ms=1, updated_ms=MANY - number, title=title, pinned=pinned)


def test_pinned_ones_come_first_and_the_rest_keep_their_order() -> None:
    sessions = [talk(0), talk(1), talk(2, pinned=True), talk(3)]

    assert [each.key[-1] for each in top_conversations(sessions, 3)] == ["2", "0", "1"]


def test_all_words_are_looked_for_in_title_and_key() -> None:
    sessions = [talk(1, title="The Boiler"), talk(2, title="Boiler again"), talk(3, "telegram")]

    assert [each.title for each in top_conversations(sessions, 9, search="boiler THE")] == ["The Boiler"]
    assert [each.key for each in top_conversations(sessions, 9, search="telegram p00003")] == [sessions[2].key]
    assert [each.key for each in top_conversations(sessions, 9, channel="telegram")] == [sessions[2].key]
    assert channels_of(sessions) == ["telegram", "webchat"]


def test_a_list_of_thousands_reads_no_key_and_asks_for_a_channel_once() -> None:
    sessions = [talk(number, "telegram" if number % 2 else "webchat") for number in range(MANY)]
    SessionKey.parse.cache_clear()

    assert len(top_conversations(sessions, 200)) == len(top_conversations(sessions, 200, search="p0")) == 200
    assert SessionKey.parse.cache_info().misses == 0

    for _ in range(2):
        assert len(top_conversations(sessions, 200, channel="telegram")) == 200
    assert SessionKey.parse.cache_info().misses <= MANY
