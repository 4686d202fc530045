"""Addresses that open one path of the hub for a while, for whoever was given them: players, phones, other programs."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from urllib.parse import quote

PARAMETER = "authSig"
"""The same as Home Assistant's."""


class SignedPaths:
    """Signs paths with a key that ends with the process, and so do they.

    Args:
        wall_time: Seconds since 1970.
    """

    def __init__(self, wall_time: Callable[[], float]) -> None:
        self._wall_time = wall_time
        self._key = secrets.token_bytes(32)

    def sign(self, path: str, life_s: float) -> str:
        """Return a path, which has no query, with a signature that is good for some seconds."""
        until = int(self._wall_time() + life_s)
        return f"{quote(path)}?{PARAMETER}={until}.{self._digest(path, until)}"

    def is_signed(self, path: str, query: Mapping[str, str]) -> bool:
        """Whether a request for a path has a signature that is still good."""
        until, _, digest = query.get(PARAMETER, "").partition(".")
        if not (until.isascii() and until.isdigit() and len(until) <= len("99999999999")):
            return False
        is_right = hmac.compare_digest(digest.encode("utf-8", "replace"), self._digest(path, int(until)).encode())
        return is_right and int(until) >= self._wall_time()

    def _digest(self, path: str, until: int) -> str:
        return hmac.new(self._key, f"{until} {path}".encode(), hashlib.sha256).hexdigest()
