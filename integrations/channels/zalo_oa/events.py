"""Reads the webhooks of Zalo's official accounts, and judges their signatures. Pure.

Format: https://developers.zalo.me/docs/official-account/webhook/tin-nhan
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from hub.messaging.contract import Address, InboundMessage, Media, MediaKind, Quote, SharedLocation

Json = Mapping[str, Any]

HEADER, TIME_HEADER = "x-zevent-signature", "x-zevent-timestamp"
AGE_LIMIT_S = 13 * 3_600.0
"""Zalo repeats for twelve hours what was not answered, as it was signed first."""
_TIME = re.compile(rb'"timestamp"\s*:\s*"?([0-9]{10,15})')
_KINDS = {
    "image": MediaKind.IMAGE,
    "gif": MediaKind.IMAGE,
    "audio": MediaKind.AUDIO,
    "video": MediaKind.VIDEO,
    "file": MediaKind.FILE,
}


def signature(app_id: str, body: bytes, timestamp: str, secret: str) -> str:
    """Return Zalo's signature of a delivery: a plain hash, as Zalo has it."""
    return hashlib.sha256(app_id.encode() + body + timestamp.encode() + secret.encode()).hexdigest()


def is_genuine(body: bytes, headers: Mapping[str, str], app_id: str, secret: str, now: float) -> bool:
    """Whether Zalo signed a delivery; the time it signed is in the body, which is not parsed for it.

    Args:
        headers: By their names in lower case.
        now: Seconds since the epoch.
    """
    given = headers.get(HEADER, "").removeprefix("mac=").strip()
    found = _TIME.findall(body)
    timestamp = headers.get(TIME_HEADER, "") or (found[-1].decode() if found else "")
    if not given or not re.fullmatch(r"[0-9]{10,15}", timestamp):
        return False
    expected = signature(app_id, body, timestamp, secret)
    is_right = hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
    signed_at = float(timestamp) / (1_000 if len(timestamp) > 11 else 1)
    return is_right and abs(now - signed_at) <= AGE_LIMIT_S


def inbound_of(event: Json, account: str, sent: Callable[[str], str | None]) -> InboundMessage | None:
    """Return the hub's message for an event; None if it is irrelevant.

    Args:
        account: The configured name of the account.
        sent: Returns the text of a message of ours, by its id.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Zalo writes them.
    """
    name = str(event["event_name"])
    if not name.startswith("user_send_"):
        return None
    kind = name.removeprefix("user_send_")
    message, person = event["message"], str(event["sender"]["id"])
    parts = [(str(each["type"]), each["payload"]) for each in message.get("attachments") or ()]
    text = str(message.get("text") or "")
    links = [payload["url"] for type, payload in parts if type == "link" and payload.get("url")]
    place = next((payload["coordinates"] for type, payload in parts if type == "location"), None)
    media = tuple(_media(type, payload) for type, payload in parts if type in _KINDS)
    text = "\n".join(filter(None, (text, *links)))
    if not text and not media and place is None:
        text = "(a sticker)" if kind == "sticker" else f"(a message of the kind {kind!r}, without its content)"
    about = message.get("quote_msg_id")
    quoted = sent(about) if about else None
    return InboundMessage(
        Address("zalo_oa", person, account),
        str(message["msg_id"]),
        f"zalo_oa:user:{person}",
        text,
        mentioned=True,
        sent_at=float(event["timestamp"]) / 1_000,
        media=media,
        location=None if place is None else SharedLocation(float(place["latitude"]), float(place["longitude"])),
        reply_to=about,
        quoted=Quote(quoted) if quoted else None,
    )


def _media(type: str, payload: Json) -> Media:
    size = payload.get("size")
    return Media(
        _KINDS[type],
        str(payload["url"]),
        name=payload.get("name"),
        size_bytes=int(size) if size else None,
        voice=type == "audio",
    )
