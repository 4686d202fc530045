"""The meaning of a homeserver's answers, for a request of the loop and for one that sends something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import PlatformError

ERROR_CHARS = 300
REQUEST_S = 60.0
_ALREADY_SO = "M_DUPLICATE_ANNOTATION"
_SIGNED_OUT = ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN")


def server_error(text: str) -> PlatformError:
    """Return that the homeserver failed; it may or may not have carried out the request."""
    return PlatformError(DeliveryState.UNKNOWN, text)


def refusal_error(text: str) -> PlatformError:
    """Return that the homeserver refuses the request, and will again."""
    return PlatformError(DeliveryState.PERMANENT, text)


async def await_answer(request: Awaitable[Any], limit_s: float = REQUEST_S) -> Any:
    """Return the answer to a request, which may be a refusal.

    Raises:
        PlatformError: It was not received; there was no answer within the time, or one that cannot be understood; or
            the homeserver wants fewer requests.
    """
    from aiohttp import ClientConnectorError, ClientError
    from nio import EncryptionError, LocalProtocolError

    try:
        async with asyncio.timeout(limit_s):
            response = await request
    except TimeoutError:
        raise server_error(f"the homeserver did not answer within {limit_s:g} s") from None
    except (ClientConnectorError, LocalProtocolError, EncryptionError, RuntimeError) as error:  # the last: was closed
        raise PlatformError(DeliveryState.TRANSIENT, _shown(error)) from error
    except (ClientError, OSError, ValueError, TypeError, LookupError) as error:  # the last three: of the library
        raise server_error(f"the homeserver's answer was lost: {_shown(error)}") from error
    transport = getattr(response, "transport_response", None)
    if refusal(response) and transport is not None and transport.status < 300:
        raise server_error("the homeserver's answer cannot be understood")
    return response


async def await_success(request: Awaitable[Any], limit_s: float = REQUEST_S) -> Any:
    """Return the answer to a request that was carried out.

    Raises:
        PlatformError: The homeserver does not do it; or see `await_answer`.
    """
    response = await await_answer(request, limit_s)
    reason = refusal(response)
    if reason is not None and response.status_code != _ALREADY_SO:
        raise refusal_error(reason)
    return response


def refusal(response: Any) -> str | None:
    """Return why the homeserver refuses the request; None when it does not."""
    from nio import ErrorResponse

    if not isinstance(response, ErrorResponse):
        return None
    return f"{response.status_code or ''} {response.message}".strip()[:ERROR_CHARS]


def is_signed_out(response: Any) -> bool:
    """Whether an answer says that the access token is no longer valid."""
    return getattr(response, "status_code", None) in _SIGNED_OUT


def _shown(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:ERROR_CHARS]
