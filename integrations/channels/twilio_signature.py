"""Twilio's signatures of its deliveries. Pure.

Source: https://www.twilio.com/docs/usage/webhooks/webhooks-security
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

FIELDS_LIMIT = 200
HEADER, SETTINGS_HEADER = "x-twilio-signature", "x-twilio-webhooks-signature-settings"

Form = Mapping[str, str]


def fields_of(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form.

    Raises:
        ValueError: It is none, or has too many.
    """
    return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_LIMIT)


def sign(secret: str, address: str, fields: Sequence[tuple[str, str]], algorithm: str = "sha1") -> str:
    """Return the signature of a form: of the address as Twilio calls it, and of all fields in order."""
    text = address + "".join(name + value for name, value in sorted(set(fields)))
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), algorithm).digest()).decode()


def is_genuine(
    body: bytes, headers: Mapping[str, str], address: str, auth_token: str, shared_secret: str | None
) -> bool:
    """Whether Twilio signed a form.

    Args:
        headers: By their names in lower case.
        address: As it is known outside; Twilio may state its port or not.
        shared_secret: Of the key that a webhook rule of Twilio names; what is signed so is refused without it.
    """
    given = headers.get(HEADER, "").encode("utf-8", "replace")
    secret, algorithm = auth_token, "sha1"
    if settings := headers.get(SETTINGS_HEADER):
        stated = dict(part.strip().partition("=")[::2] for part in settings.split(","))
        if shared_secret is None or stated.get("algorithm") != "HMAC_SHA256":
            return False
        secret, algorithm = shared_secret, "sha256"
    try:
        fields = fields_of(body)
    except ValueError:
        return False
    found = [hmac.compare_digest(given, sign(secret, each, fields, algorithm).encode()) for each in _written(address)]
    return any(found)


def _written(address: str) -> list[str]:
    parts = urlsplit(address)
    host = parts.hostname or ""
    return [
        address,
        parts._replace(netloc=host).geturl(),
        parts._replace(netloc=f"{host}:{parts.port or 443}").geturl(),
    ]
