"""Session keys: one spelling each, whatever the ids hold."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from hub.core.errors import InvalidRequest
from hub.sessions.keys import (
    SessionKey,
    SessionKind,
    ThreadKind,
    channel_key,
    cron_key,
    direct_key,
    escape_id,
    group_key,
    main_key,
    subagent_key,
    unescape_id,
)

SLUGS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)
CHANNELS = SLUGS.filter(lambda slug: slug not in [kind.value for kind in SessionKind])
IDS = st.text(min_size=1, max_size=40).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@st.composite
def keys(draw: st.DrawFn) -> SessionKey:
    agent = draw(SLUGS)
    kind = draw(st.sampled_from(SessionKind))
    if kind is SessionKind.MAIN:
        return SessionKey(agent, kind)
    if kind in (SessionKind.GROUP, SessionKind.CHANNEL):
        thread = draw(st.none() | IDS)
        thread_kind = draw(st.sampled_from(ThreadKind)) if thread is not None else ThreadKind.THREAD
        return SessionKey(agent, kind, draw(IDS), channel=draw(CHANNELS), thread=thread, thread_kind=thread_kind)
    if kind is SessionKind.DIRECT:
        channel = draw(st.none() | CHANNELS)
        account = draw(st.none() | IDS) if channel is not None else None
        return SessionKey(agent, kind, draw(IDS), channel=channel, account=account)
    return SessionKey(agent, kind, draw(IDS))


@given(keys())
def test_a_key_is_read_as_it_was_written(key: SessionKey) -> None:
    assert SessionKey.parse(str(key)) == key


@given(keys())
def test_a_key_is_made_of_harmless_characters(key: SessionKey) -> None:
    text = str(key)

    assert text.isascii()
    assert not set(text) & set("/\\ \t\r\n\0'\"`*?;&|<>(){}[]#%") - {"%"}


@given(keys(), keys())
def test_two_conversations_never_share_a_key(one: SessionKey, other: SessionKey) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidRequest):
        key = SessionKey.parse(text)
        assert SessionKey.parse(str(key)) == key


@given(IDS)
def test_an_id_is_one_part_of_a_key(id: str) -> None:
    assert ":" not in escape_id(id)
    assert unescape_id(escape_id(id)) == id


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (main_key("main"), "agent:main:main"),
        (direct_key("main", "anna"), "agent:main:direct:anna"),
        (direct_key("main", "123", channel="telegram"), "agent:main:telegram:direct:123"),
        (direct_key("main", "123", channel="telegram", account="work"), "agent:main:telegram:work:direct:123"),
        (direct_key("main", "telegram:user:123"), "agent:main:direct:telegram%3Auser%3A123"),
        (group_key("main", "telegram", "-100"), "agent:main:telegram:group:-100"),
        (group_key("main", "slack", "C1", thread="17.3"), "agent:main:slack:group:C1:thread:17.3"),
        (
            group_key("main", "telegram", "-100", thread="7", thread_kind=ThreadKind.TOPIC),
            "agent:main:telegram:group:-100:topic:7",
        ),
        (channel_key("home", "matrix", "!abc:example.org"), "agent:home:matrix:channel:!abc%3Aexample.org"),
        (subagent_key("main", "0190"), "agent:main:subagent:0190"),
        (subagent_key("main", "3", within=("1", "2")), "agent:main:subagent:1:subagent:2:subagent:3"),
        (cron_key("main", "morning"), "agent:main:cron:morning"),
        (str(SessionKey("main", SessionKind.HOOK, "door")), "agent:main:hook:door"),
        (str(SessionKey("main", SessionKind.NODE, "phone")), "agent:main:node:phone"),
    ],
)
def test_each_form_of_the_plan_is_written(made: str, text: str) -> None:
    assert made == text
    assert str(SessionKey.parse(text)) == text


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("main", "agent:cook:main"),
        ("cron:morning", "agent:cook:cron:morning"),
        ("hook:door", "agent:cook:hook:door"),
        ("node-phone", "agent:cook:node:phone"),
        ("node:phone", "agent:cook:node:phone"),
        ("shopping", "agent:cook:direct:shopping"),
        ("My-List.2", "agent:cook:direct:My-List.2"),
        ("agent:guide:trip", "agent:guide:trip"),
        ("agent:guide:main", "agent:guide:main"),
    ],
)
def test_a_short_form_means_the_default_agent(short: str, full: str) -> None:
    assert str(SessionKey.parse(short, default_agent="cook")) == full


@pytest.mark.parametrize(
    "text",
    [
        "agent:main:tui-0b0e4f2e-6d1a-4f0c-9b53-3f2d6f1f9d11",
        "agent:main:dashboard:0b0e4f2e-6d1a-4f0c-9b53-3f2d6f1f9d11",
        "agent:main:Trip to Rome, in May",
        "agent:main:买菜",
        "agent:main:telegram:123",
        "agent:main:global",
    ],
)
def test_a_text_that_a_client_chose_is_kept_as_it_is(text: str) -> None:
    key = SessionKey.parse(text, default_agent="cook")

    assert (str(key), key.agent, key.kind, key.channel) == (text, "main", SessionKind.DIRECT, None)


@pytest.mark.parametrize(
    "text", ["hook:x:y", "x:subagent:1", "telegram:group", "node-1", " x", "x ", "a::b", "a\nb", "a\u202eb", "x" * 513]
)
def test_a_text_that_could_be_taken_for_another_kind_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        SessionKey.parse(f"agent:main:{text}")


def test_an_account_may_be_called_like_a_form() -> None:
    key = SessionKey.parse("agent:main:telegram:direct:direct:group")

    assert (key.channel, key.account, key.id) == ("telegram", "direct", "group")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent",
        "agent:main",
        "agent::main",
        "agent:main:",
        "agent:Main:main",
        "agent:../../etc:main",
        "agent:main:direct:",
        "agent:main:telegram:direct:",
        "agent:main:telegram::direct:1",
        "agent:main:direct:direct:1:2",
        "agent:main:group:1",
        "agent:main:direct:group:1",
        "agent:main:telegram:group:1:thread",
        "agent:main:telegram:group:1:thread:",
        "agent:main:telegram:group:1:side:2",
        "agent:main:telegram:direct:1:thread:2",
        "agent:main:direct:a b",
        "agent:main:direct:a/b",
        "agent:main:direct:%61",
        "agent:main:direct:%3a",
        "agent:main:direct:%",
        "agent:main:direct:%FF",
        "agent:main:direct:a\n",
        "agent:main:direct:é",
        "agent:main:main:main",
        "cron:",
        "node-",
        "two words",
        ".hidden",
        "-x",
        "agent:main:direct:" + "a" * 513,
        "agent:main:direct:" + "%2F" * 513,
        "x" * 5000,
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        SessionKey.parse(text)


@pytest.mark.parametrize("id", ["", "x" * 513, "文" * 200, "\ud800"])
def test_an_id_that_cannot_be_escaped_is_refused(id: str) -> None:
    with pytest.raises(InvalidRequest):
        direct_key("main", id)


@pytest.mark.parametrize("channel", ["direct", "main", "group", "cron", "Telegram", "a:b", ""])
def test_a_channel_that_would_be_misread_is_refused(channel: str) -> None:
    with pytest.raises(InvalidRequest):
        direct_key("main", "1", channel=channel)


@pytest.mark.parametrize("name", ["main", "global", "unknown"])
def test_the_main_conversation_has_the_names_that_clients_of_openclaw_know(name: str) -> None:
    assert str(SessionKey.parse(name, default_agent="cook")) == main_key("cook")
