"""The redactor: what was registered and what looks like a secret is gone; the rest is as it was."""

from __future__ import annotations

import json
import logging
import re
import string
from base64 import b64encode
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from hub.core.secret import MASK, Secret
from hub.security.redaction import BEGUN_LENGTH, RedactedPieces, RedactingFilter, Redactor

SECRETS = {
    "hub token": "homhub_" + "aB3_" * 10 + "abc",
    "scoped token": "homtok_" + "aB3_" * 10 + "abc",
    "token of a home among many": "homtok_elm-street." + "aB3_" * 10 + "abc",
    "openai": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
    "anthropic": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "groq": "gsk_abcdefghijklmnopqrstuvwxyz012345",
    "hugging face": "hf_abcdefghijklmnopqrstuvwxyz012345",
    "github": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "gitlab": "glpat-abcdefghij0123456789",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "telegram bot": "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
}
AROUND = [
    "{}",
    "the key is {}.",
    'json {{"key": "{}"}}',
    "({})",
    "a={}\nb",
    "url https://example.org/?x={}&y=1",
    "„{}“",
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", SECRETS)
def test_well_known_secrets_are_taken_out_wherever_they_stand(kind: str, around: str) -> None:
    text = around.format(SECRETS[kind])

    shown = Redactor().redact(text)

    assert SECRETS[kind] not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ("bearer abcdefghijklmnopqrstuvwxyz", "bearer [redacted]"),
        ("https://anna:hunter22@example.org/x", "https://anna:[redacted]@example.org/x"),
        ("GET /?token=abcdef123&page=2", "GET /?token=[redacted]&page=2"),
        ("GET /?page=2&API_KEY=abcdef123", "GET /?page=2&API_KEY=[redacted]"),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- y",
            "x [redacted] y",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[redacted]"),
    ],
)
def test_secrets_in_their_places_are_taken_out(text: str, shown: str) -> None:
    assert Redactor().redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the bearer understands this",
        "remember: the wifi password is on the fridge",
        "my password: see the note",
        "a token of appreciation; key=value",
        "sk-short",
        "https://example.org:8080/path@x",
        "see https://example.org/?page=2&sort=key",
        "at 12:AA we meet",
        "public key-----",
        "eyJ is how they begin",
        "agent:main:telegram:default:direct:123456789",
        "hom_ hub homely",
        "",
    ],
)
def test_ordinary_words_stay_the_same_object(text: str) -> None:
    redactor = Redactor()
    redactor.register("something-else-entirely")

    assert redactor.redact(text) is text


def test_a_registered_value_is_taken_out_in_its_other_forms() -> None:
    redactor = Redactor()
    redactor.register(Secret('pä ss"wörd/1'))

    for form in ('pä ss"wörd/1', "p%C3%A4%20ss%22w%C3%B6rd%2F1", json.dumps('pä ss"wörd/1')):
        shown = redactor.redact(f"<{form}>")
        assert "rd" not in shown
        assert MASK in shown


def test_short_values_are_not_registered() -> None:
    redactor = Redactor()
    redactor.register("1234")
    redactor.register("1234567")
    redactor.register("")
    redactor.register("       ")

    assert redactor.redact("1234 and        nothing") == "1234 and        nothing"


def test_secrets_that_overlap_leave_nothing_between() -> None:
    redactor = Redactor()
    redactor.register("abcdefgh")
    redactor.register("efghijkl")
    redactor.register("aaaaaaaa")

    assert redactor.redact("x abcdefghijkl y aaaaaaaaaaa z") == f"x {MASK} y {MASK} z"


VALUES = st.text(alphabet=string.ascii_letters + string.digits + '%/+ "\\äß中', min_size=8, max_size=30).filter(
    lambda value: len(value.strip()) >= 8 and value not in MASK
)
WORDS = st.text(alphabet=string.ascii_letters + string.digits + " .,:/\"'{}äß中\n", max_size=60)


@given(secrets=st.lists(VALUES, min_size=1, max_size=5), words=st.lists(WORDS, min_size=1, max_size=6), data=st.data())
def test_no_registered_value_is_left_in_any_text(secrets: list[str], words: list[str], data: st.DataObject) -> None:
    redactor = Redactor()
    for value in secrets:
        redactor.register(value)
    pieces = [piece for word in words for piece in (word, data.draw(st.sampled_from(secrets)))]
    text = "".join(pieces)

    shown = redactor.redact(text)

    parts = shown.split(MASK)
    assert all(value not in part for value in secrets for part in parts)
    assert len(parts) > 1


@given(
    secret=st.text(alphabet=string.ascii_lowercase, min_size=8, max_size=30).map(lambda value: f"Z{value}"),
    words=st.lists(WORDS.filter(bool), min_size=1, max_size=6),
    data=st.data(),
)
def test_a_text_that_comes_in_pieces_is_shown_whole_and_without_a_secret(
    secret: str, words: list[str], data: st.DataObject
) -> None:
    redactor = Redactor()
    redactor.register(secret)
    text = secret.join(words)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    pieces = RedactedPieces(redactor)
    shown = [pieces.add(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown.append(pieces.end())

    first = [secret[:length] for length in range(BEGUN_LENGTH - 1, 0, -1)]  # may be shown before it is known for one
    begun = re.compile(f"(?:{'|'.join(first)})*{re.escape(MASK)}")
    assert begun.sub(MASK, "".join(shown)) == begun.sub(MASK, redactor.redact(text))


@given(st.text(max_size=300))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redactor = Redactor()
    redactor.register("correct-horse")

    once = redactor.redact(text + " correct-horse " + text)

    assert redactor.redact(once) == once


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10) | st.just("my correct-horse here"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_data_keeps_its_shape_and_loses_its_secrets(data: Any) -> None:
    redactor = Redactor()
    redactor.register("correct-horse")
    before = json.dumps(data)

    shown = redactor.redact_data(data)

    assert json.dumps(data) == before
    assert json.dumps(shown) == before.replace("correct-horse", MASK)
    assert shown is data or "correct-horse" in before


@given(st.text(alphabet='ab"\\/\n\x01é', min_size=8, max_size=10), JSON, st.data())
def test_data_that_is_clean_as_json_loses_nothing(value: str, other: Any, data: st.DataObject) -> None:
    redactor = Redactor()
    redactor.register(value)
    forms = [
        value,
        json.dumps(value),
        b64encode(b"x" + value.encode()).decode(),
        "sk-" + "a1" * 9,
        "bearer " + "a1" * 12,
    ]
    shown = data.draw(st.sampled_from([other, *forms, {"a": [other, *forms]}, [{each: other} for each in forms]]))

    is_clean = redactor.is_clean(orjson.dumps(shown).decode())

    assert not is_clean or redactor.redact_data(shown) is shown


def test_an_ordinary_event_is_clean() -> None:
    redactor = Redactor()
    redactor.register("correct-horse")

    assert redactor.is_clean('{"runId":"0a1b","data":{"text":"It is in the cellar."}}')


def test_data_that_is_too_deep_is_not_clean() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]

    assert not Redactor().is_clean(orjson.dumps(deep).decode())


def test_secret_objects_keys_and_bytes_are_taken_out_of_data() -> None:
    redactor = Redactor()
    redactor.register("correct-horse")

    shown = redactor.redact_data(
        {"a": Secret("x"), "correct-horse": 1, "b": (b"correct-horse", {"correct-horse"}), 3: 4.5}
    )

    assert shown == {"a": MASK, MASK: 1, "b": (MASK, [MASK]), 3: 4.5}


def test_a_key_that_was_shown_is_taken_out_once_it_is_registered() -> None:
    redactor = Redactor()
    redactor.redact_data({"walnut-harbour": 1})

    redactor.register("walnut-harbour")

    assert redactor.redact_data({"walnut-harbour": 1}) == {MASK: 1}


def test_data_without_end_is_cut() -> None:
    endless: list[Any] = []
    endless.append(endless)

    assert "too deep" in repr(Redactor().redact_data(endless))


@pytest.fixture
def logged() -> tuple[logging.Logger, list[str]]:
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    redactor = Redactor()
    redactor.register(Secret("correct-horse"))
    handler = Lines()
    handler.addFilter(RedactingFilter(redactor))
    logger = logging.Logger("test of redaction")
    logger.addHandler(handler)
    return logger, lines


def test_a_log_line_is_redacted_with_its_arguments(logged: tuple[logging.Logger, list[str]]) -> None:
    logger, lines = logged

    logger.warning("the password %s of %d is %s", "correct-horse", 3, {"x": "correct-horse"})

    assert lines == [f"the password {MASK} of 3 is {{'x': '{MASK}'}}"]


def test_a_traceback_is_redacted(logged: tuple[logging.Logger, list[str]]) -> None:
    logger, lines = logged

    try:
        raise LookupError("no correct-horse here")
    except LookupError:
        logger.exception("failed")

    assert "LookupError: no [redacted] here" in lines[0]
    assert "correct-horse" not in lines[0]


def test_a_log_line_whose_arguments_do_not_fit_is_still_shown(logged: tuple[logging.Logger, list[str]]) -> None:
    logger, lines = logged

    logger.warning("%s and %d", "correct-horse")  # noqa: PLE1206  the mistake is what is tested

    assert lines[0].startswith("%s and %d")
    assert "correct-horse" not in lines[0]
