"""What a homeserver's answers mean: for a request of the loop, and for one that sends something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from hub.core.errors import HubError, Unavailable
from hub.messaging.contract import Delivery, DeliveryState

ERROR_CHARS = 300
REQUEST_S = 60.0
_ALREADY_SO = "M_DUPLICATE_ANNOTATION"
_SIGNED_OUT = ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN")
_NOT_UNDERSTOOD = (ValueError, TypeError, LookupError)
"""What the library raises for some answers that are not as they should be."""


class ServerFailed(Unavailable):
    """The homeserver failed; it may or may not have done what was asked."""

    code = "SERVER_FAILED"


class NotConnected(Unavailable):
    """The homeserver did not get the request."""

    code = "NOT_CONNECTED"


class Refused(HubError):
    """The homeserver does not do what was asked, and will not when it is asked again."""

    code = "REFUSED"


async def asked(request: Awaitable[Any], limit_s: float = REQUEST_S) -> Any:
    """Return the answer to a request, which may be a refusal.

    Raises:
        NotConnected: It did not get there.
        ServerFailed: There was no answer within the time, or one that cannot be understood.
        Unavailable: The homeserver wants fewer requests.
    """
    from aiohttp import ClientConnectorError, ClientError
    from nio import EncryptionError, LocalProtocolError

    try:
        async with asyncio.timeout(limit_s):
            response = await request
    except TimeoutError:
        raise ServerFailed(f"the homeserver did not answer within {limit_s:g} s") from None
    except (ClientConnectorError, LocalProtocolError, EncryptionError, RuntimeError) as error:  # the last: was closed
        raise NotConnected(_shown(error)) from error
    except (ClientError, OSError, *_NOT_UNDERSTOOD) as error:
        raise ServerFailed(f"the homeserver's answer was lost: {_shown(error)}") from error
    transport = getattr(response, "transport_response", None)
    if refusal(response) and transport is not None and transport.status < 300:
        raise ServerFailed("the homeserver's answer cannot be understood")
    return response


async def done(request: Awaitable[Any], limit_s: float = REQUEST_S) -> Any:
    """Return the answer to a request that was carried out.

    Raises:
        Refused: The homeserver does not do it.
        HubError: See `asked`.
    """
    response = await asked(request, limit_s)
    refused = refusal(response)
    if refused is not None and response.status_code != _ALREADY_SO:
        raise Refused(refused)
    return response


async def delivery(work: Awaitable[Any]) -> Delivery:
    """Return how something ended that sends an event, whose id it returns."""
    try:
        event_id = await work
    except (Refused, OSError) as error:  # the latter: of a file
        return Delivery(DeliveryState.PERMANENT, error=str(error))
    except (ServerFailed, AttributeError, *_NOT_UNDERSTOOD) as error:
        return Delivery(DeliveryState.UNKNOWN, error=str(error))
    except HubError as error:
        return Delivery(DeliveryState.TRANSIENT, error=str(error), retry_after_s=error.retry_after_s)
    return Delivery(DeliveryState.DELIVERED, (event_id,) if event_id else ())


def refusal(response: Any) -> str | None:
    """Return why the homeserver does not do what was asked; None when it does."""
    from nio import ErrorResponse

    if not isinstance(response, ErrorResponse):
        return None
    return f"{response.status_code or ''} {response.message}".strip()[:ERROR_CHARS]


def is_signed_out(response: Any) -> bool:
    """Whether an answer says that the access token is no longer valid."""
    return getattr(response, "status_code", None) in _SIGNED_OUT


def _shown(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:ERROR_CHARS]
