"""SCRAM for slixmpp, whose own salts the password in Python: a tenth of a second of the loop for each login."""

from __future__ import annotations

import hashlib

from slixmpp.util import bytes as to_bytes
from slixmpp.util.sasl.client import sasl_mech
from slixmpp.util.sasl.mechanisms import SCRAM


@sasl_mech(SCRAM.score)
class Scram(SCRAM):
    """The mechanism that takes the place of slixmpp's in its table, with each hash that it knows."""

    def Hi(self, text: str, salt: bytes, iterations: int) -> bytes:
        """Return the salted password."""
        return hashlib.pbkdf2_hmac(self.hash_name.replace("-", "").lower(), to_bytes(text), salt, iterations)
