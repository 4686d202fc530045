from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Authority, Context, ToolPolicy
from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid
from hub.messaging.contract import Address, InboundMessage, Media, MediaKind, MessageDeleted, MessageEdited
from hub.messaging.queue.group_history import OverheardLine
from hub.messaging.queue.queue_policy import (
    INBOUND_SCHEMA,
    QUEUE_SCHEMA,
    DropPolicy,
    QueueMode,
    QueuePolicy,
    QueueSettings,
    parse_queue_directive,
)
from hub.messaging.queue.turn import turn_content
from hub.messaging.queue.waiting import (
    ALBUM_S,
    Timing,
    TurnRules,
    WaitingMessage,
    bursts,
    flush,
    next_turn,
    revise,
    set_due,
    steerable,
)


def settings(queue: dict[str, Any], inbound: dict[str, Any] | None = None) -> QueueSettings:
    return QueueSettings.from_config({"queue": QUEUE_SCHEMA(queue), "inbound": INBOUND_SCHEMA(inbound or {})})


def test_without_configuration_messages_are_collected() -> None:
    assert settings({}).of("telegram") == QueuePolicy(QueueMode.COLLECT, 1_000, 20, DropPolicy.SUMMARIZE)
    assert settings({}).debounce_ms("telegram") == 2_000


def test_a_channel_has_a_mode_or_settings_of_its_own_over_the_common_ones() -> None:
    stated = settings({"cap": 5, "by_channel": {"telegram": "queue", "slack": {"mode": "followup", "drop": "new"}}})

    assert stated.of("telegram") == QueuePolicy(QueueMode.STEER, cap=5)
    assert stated.of("slack") == QueuePolicy(QueueMode.FOLLOWUP, cap=5, drop=DropPolicy.NEW)
    assert stated.of("irc") == QueuePolicy(cap=5)


def test_a_session_has_the_last_word() -> None:
    stated = settings({"cap": 5, "by_channel": {"telegram": "steer"}})

    assert stated.of("telegram", "followup cap:7") == QueuePolicy(QueueMode.FOLLOWUP, cap=7)


def test_text_waits_as_long_as_the_channel_says() -> None:
    stated = settings({}, {"debounce_ms": 500, "by_channel": {"whatsapp": 5_000}})

    assert (stated.debounce_ms("whatsapp"), stated.debounce_ms("telegram")) == (5_000, 500)


@pytest.mark.parametrize(
    "queue",
    [{"mode": "fast"}, {"cap": 0}, {"cap": True}, {"drop": "some"}, {"debounce_ms": -1}, {"by_channel": {"x": "fast"}}],
)
def test_settings_that_cannot_be_are_refused(queue: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        QUEUE_SCHEMA(queue)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (
            "collect debounce:2s cap:25 drop:summarize",
            {"mode": "collect", "debounce_ms": 2_000, "cap": 25, "drop": "summarize"},
        ),
        ("Queue", {"mode": "steer"}),
        ("steer-backlog", {"mode": "steer_backlog"}),
        ("debounce:250ms", {"debounce_ms": 250}),
        ("debounce:1.5s", {"debounce_ms": 1_500}),
        ("default", None),
        ("reset", None),
    ],
)
def test_what_the_command_says(text: str, stated: dict[str, Any] | None) -> None:
    assert parse_queue_directive(text) == stated


@pytest.mark.parametrize(
    "text", ["", "fast", "collect steer", "cap:0", "cap:²", "drop:some", "debounce:2h", "debounce:90s", "size:3"]
)
def test_a_command_that_is_not_understood_says_what_there_is(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_queue_directive(text)


# --- which messages are answered next ---


def wait(text: str, *, who: str = "7", peer: str = "7", at_s: float = 0.0, album: str | None = None) -> WaitingMessage:
    message = InboundMessage(Address("test", peer), text, f"test:user:{who}", text, sender_name=f"U{who}", album=album)
    return WaitingMessage(f"row {text}", f"run {text}", message, Context(Authority(f"peer:{who}")), int(at_s * 1_000))


def texts(messages: Any) -> list[str]:
    return [each.message.text for each in messages]


def chosen(waiting: list[WaitingMessage], mode: QueueMode, now: float = 10.0) -> list[str]:
    found = next_turn(waiting, lambda _: TurnRules(mode, 2_000), now)
    return texts(found.messages) if found else []


def test_what_is_collected_is_of_one_conversation() -> None:
    waiting = [wait("a"), wait("b", peer="8"), wait("c")]

    assert chosen(waiting, QueueMode.COLLECT) == ["a", "c"]


def test_one_by_one_what_a_sender_wrote_in_one_go_is_one_message() -> None:
    waiting = [wait("a"), wait("b", at_s=1.5), wait("c", at_s=5), wait("d", who="8", at_s=5.5)]

    assert chosen(waiting, QueueMode.FOLLOWUP) == ["a", "b"]
    assert [texts(part) for part in bursts(waiting, 2_000)] == [["a", "b"], ["c"], ["d"]]


def test_an_interrupt_answers_the_newest_alone() -> None:
    found = next_turn([wait("a"), wait("b", at_s=5)], lambda _: TurnRules(QueueMode.INTERRUPT, 2_000), 10.0)

    assert found is not None
    assert (texts(found.messages), texts(found.superseded)) == (["b"], ["a"])


def test_who_waits_for_more_holds_up_nobody_else() -> None:
    early, late = wait("early"), wait("late", peer="8")
    early.due = 99.0

    assert chosen([early, late], QueueMode.COLLECT) == ["late"]
    assert chosen([early], QueueMode.COLLECT) == []


def test_text_waits_for_more_text_of_its_sender_but_not_for_ever() -> None:
    waiting: list[WaitingMessage] = []
    for second in range(12):
        fresh = wait(str(second))
        set_due(waiting, fresh, Timing(2_000, 0), now=float(second))
        waiting.append(fresh)

    assert waiting[0].due == 10.0
    assert waiting[-1].due == 13.0


def test_a_picture_sends_the_text_before_it_on_its_way() -> None:
    text, picture = wait("look"), wait("")
    set_due([], text, Timing(2_000, 0), now=0.0)
    picture.message = InboundMessage(
        picture.message.address, "2", "test:user:7", "", media=(Media(MediaKind.IMAGE, "x"),)
    )

    set_due([text], picture, Timing(2_000, 0), now=1.0)

    assert (text.due, picture.due) == (1.0, 1.0)


def test_pictures_of_an_album_wait_for_each_other() -> None:
    first, second = wait("a", album="x"), wait("b", album="x", at_s=9)
    first.message = InboundMessage(
        first.message.address, "1", "test:user:7", "a", media=(Media(MediaKind.IMAGE, "x"),), album="x"
    )

    set_due([], first, Timing(0, 0), now=0.0)

    assert first.due == ALBUM_S
    assert len(bursts([first, second], 0)) == 1


def test_while_the_agent_is_busy_all_of_a_conversation_waits_for_quiet() -> None:
    one, other = wait("one", who="7"), wait("other", who="8")
    set_due([], one, Timing(0, 1_000), now=0.0)
    set_due([one], other, Timing(0, 1_000), now=0.5)

    assert one.due == other.due == 1.5


def test_a_command_sends_on_its_way_what_its_sender_wrote() -> None:
    mine, theirs = wait("mine", who="7"), wait("theirs", who="8")
    mine.due = theirs.due = 9.0

    flush([mine, theirs], ("test", "default", "7", None), "test:user:7", now=1.0)

    assert (mine.due, theirs.due) == (1.0, 9.0)


def test_only_its_sender_changes_a_message() -> None:
    waiting = wait("a")
    address = waiting.message.address

    edited = revise(waiting, MessageEdited(address, "e", "test:user:7", message_id="a", text="b"))
    deleted = revise(waiting, MessageDeleted(address, "e", "test:user:7", message_id="a"))

    assert edited is not None
    assert deleted is not None
    assert (edited.text, deleted.text) == ("b", "")
    assert revise(waiting, MessageEdited(address, "e", "test:user:8", message_id="a", text="b")) is None
    assert revise(waiting, MessageEdited(address, "e", "test:user:7", message_id="other", text="b")) is None


def test_a_message_that_quotes_others_is_not_heard_by_a_turn_without_words_from_outside() -> None:
    plain, quoting = wait("plain"), wait("quoting")
    quoting.quote = OverheardLine("U9", None, "the boiler leaks")

    assert steerable([plain, quoting], wait("running")) == [plain]


# --- what the model is shown, and with whose rights ---


def test_messages_that_are_answered_together_are_told_apart() -> None:
    content = turn_content([wait("first"), wait("second", who="8")], 0)

    assert content.message.text == (
        "[Queued messages while agent was busy]\n"
        "---\nQueued #1 (from U7, message_id: first)\nfirst\n"
        "---\nQueued #2 (from U8, message_id: second)\nsecond"
    )
    assert content.sender_name is None


def test_what_was_written_in_one_go_is_shown_as_one_message() -> None:
    content = turn_content([wait("first"), wait("second", at_s=1)], 2_000)

    assert (content.message.text, content.sender_name) == ("first\nsecond", "U7")


def test_what_gave_way_is_mentioned() -> None:
    gone = wait("x" * 300)
    gone.dropped = True

    lines = turn_content([gone, wait("kept")], 0).message.text.splitlines()

    assert lines[0] == "[Dropped 1 earlier messages because too many were waiting]"
    assert lines[1].startswith("- U7: xxx")
    assert len(lines[1]) < 180
    assert lines[-1] == "kept"


def test_a_turn_has_the_least_rights_of_its_senders() -> None:
    mine, theirs = wait("mine"), wait("theirs", who="8")
    no_shell, no_web = ToolPolicy(None, frozenset({"exec"})), ToolPolicy(None, frozenset({"fetch"}))
    mine.context = Context(Authority("owner", "me", frozenset({"operator.write"}), (no_shell,), owner=True))
    theirs.context = Context(Authority("peer:test:user:8", tool_policies=(no_web,), tainted=True))

    for messages in ([mine, theirs], [theirs, mine]):
        least = turn_content(messages, 0).context.authority
        assert (least.principal, least.person, least.owner, least.tainted) == ("peer:test:user:8", None, False, True)
        assert least.scopes == frozenset()
        assert set(least.tool_policies) == {no_shell, no_web}
