"""Passwords of the gateway: an argon2id hash, or the text itself; checking one takes tens of milliseconds."""

from __future__ import annotations

import hmac
from hashlib import sha256

from hub.core.secret import Secret
from hub.core.weak_secrets import PASSWORD_LENGTH_MIN, refuse_weak

PASSWORD_LENGTH_MAX = 1_024
_MARK = "$argon2id$"


def verify_password(configured: Secret | str, given: Secret | str) -> bool:
    """Whether `given` is the configured password; run it in a thread.

    Args:
        configured: An argon2id hash, or the password itself as a `!secret` holds it.
        given: The typed password.

    Anything empty, too long or malformed is never right.
    """
    expected, typed = _reveal(configured), _reveal(given)
    if not expected or not typed or len(typed) > PASSWORD_LENGTH_MAX:
        return False
    if not is_hash(expected):
        return hmac.compare_digest(sha256(expected.encode()).digest(), sha256(typed.encode()).digest())
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(expected, typed)
    except (VerificationError, InvalidHashError):
        return False


def is_hash(value: str) -> bool:
    """Whether `value` is an argon2id hash rather than a password."""
    return value.startswith(_MARK)


def refuse_weak_password(configured: Secret | str) -> None:
    """Refuse a configured password that would keep nobody out; a hash cannot be judged and passes.

    Raises:
        WeakSecret: The message names `http.auth.password`.
    """
    value = _reveal(configured)
    if not is_hash(value):
        refuse_weak(value, "http.auth.password", PASSWORD_LENGTH_MIN)


def _reveal(value: Secret | str) -> str:
    return value.reveal() if isinstance(value, Secret) else value
