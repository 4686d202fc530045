"""Reads Twilio's messages as the hub's. Pure.

Format: https://www.twilio.com/docs/messaging/guides/webhook-request
"""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from hub.messaging.contract import Address, InboundMessage, Media
from integrations.channels.acknowledging import kind_of

MEDIA_LIMIT = 10


def inbound_of(form: dict[str, str], account: str) -> InboundMessage | None:
    """Return the hub's message for a delivery; None for a STOP or HELP that Twilio answered itself.

    Args:
        account: The configured name of the account.

    Raises:
        LookupError, ValueError: It is not as Twilio writes them.
    """
    if form.get("OptOutType"):
        return None
    count = min(int(form.get("NumMedia") or 0), MEDIA_LIMIT)
    media = [(form[f"MediaUrl{at}"], form.get(f"MediaContentType{at}")) for at in range(count)]
    return _message(form["MessageSid"], form["From"], form.get("Body", ""), account, None, media)


def listed(message: dict[str, Any], account: str, media: Sequence[tuple[str, str | None]] = ()) -> InboundMessage:
    """Return the hub's message for one of Twilio's list.

    Args:
        account: The configured name of the account.
        media: Addresses and types of its files.

    Raises:
        LookupError, TypeError, ValueError: It is not as Twilio writes them.
    """
    return _message(message["sid"], message["from"], message["body"] or "", account, sent_at(message), media)


def sent_at(message: dict[str, Any]) -> float:
    """Return when a message of the list was made, in seconds since the epoch.

    Raises:
        LookupError, TypeError, ValueError: It is not said.
    """
    return parsedate_to_datetime(message["date_created"]).timestamp()


def _message(
    sid: str, sender: str, text: str, account: str, at: float | None, media: Sequence[tuple[str, str | None]]
) -> InboundMessage:
    return InboundMessage(
        Address("sms", sender, account),
        sid,
        f"sms:user:{sender}",
        text,
        mentioned=True,
        sent_at=at,
        media=tuple(Media(kind_of(mime), address, mime) for address, mime in media),
    )
