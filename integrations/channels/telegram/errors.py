"""What the errors of the Bot API mean for a message: surely not sent, refused, done already, or not known."""

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
_DONE = ("message is not modified", "message to delete not found")


def delivery_of(error: Exception) -> Delivery:
    """Return the result of an attempt that failed."""
    from telegram import error as errors

    text = describe(error)
    if isinstance(error, errors.RetryAfter):
        return Delivery(DeliveryState.TRANSIENT, error=text, retry_after_s=retry_after_s(error))
    if isinstance(error, errors.BadRequest) and any(done in text.lower() for done in _DONE):
        return Delivery(DeliveryState.DELIVERED)
    refused = (errors.Forbidden, errors.BadRequest, errors.InvalidToken, errors.ChatMigrated)
    if isinstance(error, (*refused, OSError, ValueError)) or "Entity Too Large" in text:
        return Delivery(DeliveryState.PERMANENT, error=text)
    if isinstance(error.__cause__, _NOT_SENT) or "Too Many Requests" in text:
        return Delivery(DeliveryState.TRANSIENT, error=text)
    return Delivery(DeliveryState.UNKNOWN, error=text)


def retry_after_s(error: RetryAfter) -> float:
    """Return for how long Telegram asks to wait, in seconds."""
    value = error.retry_after
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def describe(error: Exception) -> str:
    """Return an error for people."""
    if isinstance(error, TimeoutError):
        return "Telegram did not answer in time"
    return (str(error) or type(error).__name__)[:ERROR_LENGTH]
