"""Weak secrets: empty, placeholders, too short."""

from __future__ import annotations

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase

TOKEN_LENGTH_MIN = 32
PASSWORD_LENGTH_MIN = 10

_PLACEHOLDERS = frozenset(
    {
        "admin", "changeit", "changeme", "default", "demo", "example", "hello", "homarus", "letmein", "mypassword",
        "none", "null", "openclaw", "password", "passwort", "placeholder", "qwerty", "qwertyuiop", "replaceme",
        "secret", "test", "testing", "todo", "token", "undefined", "welcome", "xxxxxxxx", "yourpassword",
        "yoursecret", "yourtoken",
    }
)  # fmt: skip
_PLACEHOLDER_MARKS = ("changeme", "replaceme", "yourpassword", "yoursecret", "yourtoken", "placeholder")


class WeakSecret(InvalidRequest):
    """The secret is too weak."""

    code = "WEAK_SECRET"


def weakness(value: str, length_min: int = TOKEN_LENGTH_MIN) -> str | None:
    """Return the weakness of a secret, or None.

    Args:
        value: The secret.
        length_min: Characters it must have at least.
    """
    if not value.strip():
        return phrase("it is empty")
    plain = "".join(symbol for symbol in value.casefold() if symbol.isalnum())
    words = plain.rstrip("0123456789")
    if plain in _PLACEHOLDERS or words in _PLACEHOLDERS or any(mark in plain for mark in _PLACEHOLDER_MARKS):
        return phrase("it is a placeholder")
    if len(value) < length_min:
        return phrase("it has fewer than {limit} characters", limit=length_min)
    if len(set(value)) < 5:
        return phrase("it is made of fewer than 5 different characters")
    return None


def refuse_weak(value: str, what: str, length_min: int = TOKEN_LENGTH_MIN) -> None:
    """Refuse a weak secret.

    Args:
        what: Names it in the message, such as "http.auth.password".

    Raises:
        WeakSecret: The message says what is wrong with it.
    """
    reason = weakness(value, length_min)
    if reason is not None:
        raise WeakSecret(f"{what} is not safe: {reason}. Use a long random one, or leave it out to have one made.")
