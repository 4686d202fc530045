"""Signatures of webhooks: right ones pass, everything else does not."""

from __future__ import annotations

import hmac
from hashlib import sha256

import pytest
from hypothesis import given, strategies as st

from hub.security.webhook_signature import FORMS, SignatureForm, form_of, is_signed, sign

SECRET = "a secret of some length"
BODY = b'{"a": 1}'
NOW = 1_767_225_600.0
TIMED = SignatureForm("x-signature", "v1=", "base64", "x-timestamp")


def headers_for(form: SignatureForm, body: bytes = BODY, secret: str = SECRET, at: float = NOW) -> dict[str, str]:
    """Return the headers that a sender would add."""
    timed = form.in_one or form.timestamp_header is not None
    timestamp = str(int(at)) if timed else None
    headers = {form.header: sign(secret, body, form, timestamp)}
    if form.timestamp_header is not None:
        headers[form.timestamp_header] = str(int(at))
    return headers


def test_githubs_own_example_is_signed() -> None:
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    stated = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

    assert is_signed(secret, body, {"x-hub-signature-256": stated}, FORMS["github"], NOW)


def test_stripes_form_is_the_timestamp_and_the_body() -> None:
    digest = hmac.new(SECRET.encode(), f"{int(NOW)}.".encode() + BODY, sha256).hexdigest()
    stated = f"t={int(NOW)},v1={'0' * 64},v1={digest},v0=old"

    assert is_signed(SECRET, BODY, {"stripe-signature": stated}, FORMS["stripe"], NOW)


@pytest.mark.parametrize("form", [*FORMS.values(), TIMED])
def test_what_a_sender_signs_is_accepted(form: SignatureForm) -> None:
    assert is_signed(SECRET, BODY, headers_for(form), form, NOW)


@pytest.mark.parametrize("form", [*FORMS.values(), TIMED])
@given(body=st.binary(max_size=50), secret=st.text(min_size=1, max_size=20))
def test_another_body_or_secret_is_refused(form: SignatureForm, body: bytes, secret: str) -> None:
    headers = headers_for(form)

    assert is_signed(SECRET, body, headers, form, NOW) is (body == BODY)
    assert is_signed(secret, BODY, headers, form, NOW) is (secret == SECRET)


@pytest.mark.parametrize("form", [FORMS["stripe"], TIMED])
def test_an_old_timestamp_or_one_from_the_future_is_refused(form: SignatureForm) -> None:
    assert is_signed(SECRET, BODY, headers_for(form), form, NOW + 300)
    assert not is_signed(SECRET, BODY, headers_for(form), form, NOW + 301)
    assert not is_signed(SECRET, BODY, headers_for(form), form, NOW - 301)


def test_the_tolerance_can_be_set() -> None:
    form = form_of("stripe", 10.0)

    assert not is_signed(SECRET, BODY, headers_for(form), form, NOW + 11)


@pytest.mark.parametrize(
    "stated",
    [
        "",
        "sha256=",
        "sha256=zz",
        "sha1=" + "0" * 64,
        "sha256=" + "0" * 63,
        "sha256=" + "0" * 64,
        "x" * 5_000,
        "sha256=é",
    ],
)
def test_what_is_no_signature_is_refused(stated: str) -> None:
    assert not is_signed(SECRET, BODY, {"x-signature-256": stated}, FORMS["generic"], NOW)


@pytest.mark.parametrize(
    "stated", ["", "t=,v1=", "v1=" + "0" * 64, "t=now,v1=00", "t=9" * 20, "t=-5,v1=00", "t=١,v1=00"]
)
def test_what_is_no_signature_of_stripe_is_refused(stated: str) -> None:
    assert not is_signed(SECRET, BODY, {"stripe-signature": stated}, FORMS["stripe"], NOW)


def test_a_missing_header_or_an_empty_secret_is_refused() -> None:
    assert not is_signed(SECRET, BODY, {}, FORMS["github"], NOW)
    assert not is_signed("", BODY, headers_for(FORMS["github"], secret=""), FORMS["github"], NOW)
