"""Signatures of webhooks: whether a body was signed with the secret. Pure rules, no state.

Three forms are known: a signature of the body in a header (GitHub and many others), one of a timestamp and the body in
two headers, and Stripe's, with both in one header.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import math
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

TOLERANCE_S = 300.0
HEADER_LIMIT = 4_096
SIGNATURES_LIMIT = 8
"""So many signatures in one header are looked at: a sender that changes its secret sends two."""


class SignatureForm(Struct, frozen=True):
    """The header and the signed text of a signature; always HMAC-SHA256.

    Attributes:
        header: In lower case.
        prefix: Before the signature.
        encoding: hex or base64.
        timestamp_header: In lower case; then what is signed is `<timestamp>.<body>`.
        in_one: The header holds `t=<timestamp>,v1=<signature>`, as Stripe's does.
        tolerance_s: How far a timestamp may be from now.
    """

    header: str = "x-signature-256"
    prefix: str = "sha256="
    encoding: str = "hex"
    timestamp_header: str | None = None
    in_one: bool = False
    tolerance_s: float = TOLERANCE_S


FORMS: Mapping[str, SignatureForm] = {
    "generic": SignatureForm(),
    "github": SignatureForm(header="x-hub-signature-256"),
    "stripe": SignatureForm(header="stripe-signature", prefix="", in_one=True),
}


def form_of(name: str, tolerance_s: float | None = None) -> SignatureForm:
    """Return a form by its name."""
    form = FORMS[name]
    return form if tolerance_s is None else replace(form, tolerance_s=tolerance_s)


def sign(secret: str, body: bytes, form: SignatureForm, timestamp: str | None = None) -> str:
    """Return the value of the signature's header."""
    payload = body if timestamp is None else timestamp.encode() + b"." + body
    digest = hmac.new(secret.encode(), payload, sha256).digest()
    text = digest.hex() if form.encoding == "hex" else base64.b64encode(digest).decode()
    return f"t={timestamp},v1={text}" if form.in_one else form.prefix + text


def is_signed(secret: str, body: bytes, headers: Mapping[str, str], form: SignatureForm, now: float) -> bool:
    """Whether the body was signed with the secret, and not too long ago.

    Args:
        headers: By lower-case name.
        now: Seconds since the epoch.
    """
    if not secret:
        return False
    stated = headers.get(form.header, "")
    if not stated or len(stated) > HEADER_LIMIT:
        return False
    timestamp: str | None = None
    if form.in_one:
        timestamp, signatures = _parts(stated)
    else:
        if not stated.startswith(form.prefix):
            return False
        signatures = [stated[len(form.prefix) :].strip()]
        timestamp = headers.get(form.timestamp_header, "") if form.timestamp_header else None
    if timestamp is not None and not _is_recent(timestamp, now, form.tolerance_s):
        return False
    payload = body if timestamp is None else timestamp.encode() + b"." + body
    expected = hmac.new(secret.encode(), payload, sha256).digest()
    # Each one is compared, whatever the others said: how long it takes tells nothing.
    found = [hmac.compare_digest(_decoded(each, form.encoding), expected) for each in signatures]
    return any(found)


def stamp_of(body: bytes, headers: Mapping[str, str], form: SignatureForm) -> bytes | None:
    """Return the identity of a signed call: its time and its body; None if no time is signed."""
    if form.in_one:
        timestamp = _parts(headers.get(form.header, ""))[0]
    elif form.timestamp_header is not None:
        timestamp = headers.get(form.timestamp_header, "")
    else:
        return None
    return sha256(timestamp.encode("utf-8", "replace") + b"." + body).digest()


def _parts(stated: str) -> tuple[str, list[str]]:
    timestamp = ""
    signatures: list[str] = []
    for part in stated.split(","):
        key, _, value = part.strip().partition("=")
        if key == "t" and not timestamp:
            timestamp = value
        elif key == "v1" and len(signatures) < SIGNATURES_LIMIT:
            signatures.append(value)
    return timestamp, signatures


def _is_recent(timestamp: str, now: float, tolerance_s: float) -> bool:
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 15:
        return False
    sent = float(timestamp)
    return math.isfinite(sent) and abs(now - sent) <= tolerance_s


def _decoded(signature: str, encoding: str) -> bytes:
    try:
        if encoding == "hex":
            return bytes.fromhex(signature) if len(signature) == sha256().digest_size * 2 else b""
        return base64.b64decode(signature, validate=True)
    except (ValueError, binascii.Error):
        return b""
