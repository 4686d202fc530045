"""What the errors of the Bot API mean for a message: surely not sent, refused, or not known."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import aiohttp

from hub.messaging.contract import Delivery, DeliveryState

if TYPE_CHECKING:
    from telegram.error import RetryAfter

ERROR_LENGTH = 300
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""Errors of the HTTP client that come before the request is written."""


def delivery_of(error: Exception) -> Delivery:
    """Return what became of a message whose sending failed."""
    from telegram import error as errors

    text = describe(error)
    if isinstance(error, errors.RetryAfter):
        return Delivery(DeliveryState.TRANSIENT, error=text, retry_after_s=retry_after_s(error))
    refused = (errors.Forbidden, errors.BadRequest, errors.InvalidToken, errors.ChatMigrated)
    if isinstance(error, (*refused, OSError, ValueError)) or "Entity Too Large" in text:
        return Delivery(DeliveryState.PERMANENT, error=text)
    if was_not_sent(error) or "Too Many Requests" in text:
        return Delivery(DeliveryState.TRANSIENT, error=text)
    return Delivery(DeliveryState.UNKNOWN, error=text)


def was_not_sent(error: Exception) -> bool:
    """Whether a request surely never reached the server."""
    return isinstance(error.__cause__, _NOT_SENT)


def retry_after_s(error: RetryAfter) -> float:
    """Return for how long Telegram asks to wait, in seconds."""
    value = error.retry_after
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def describe(error: Exception) -> str:
    """Return an error for people."""
    if isinstance(error, TimeoutError):
        return "Telegram did not answer in time"
    return (str(error) or type(error).__name__)[:ERROR_LENGTH]


def is_markup_refused(error: Exception) -> bool:
    """Whether Telegram could not read the markup."""
    return "can't parse entities" in str(error).lower()


def is_thread_gone(error: Exception) -> bool:
    """Whether the topic was deleted."""
    return "message thread not found" in str(error).lower()
