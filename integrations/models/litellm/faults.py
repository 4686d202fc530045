"""litellm's exceptions as ours. Pure; knows them by name, so that litellm need not be loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hub.core.secret import Secret
from hub.models.classify import make_error
from hub.models.contract import (
    AuthError,
    BillingError,
    ContextOverflow,
    FormatError,
    ModelError,
    ModelTimeout,
    Overloaded,
)
from hub.models.retry_after import retry_after_s

_KINDS: Mapping[str, type[ModelError]] = {
    "ContextWindowExceededError": ContextOverflow,
    "BudgetExceededError": BillingError,
    "PaymentRequiredError": BillingError,
    "Timeout": ModelTimeout,
    "APITimeoutError": ModelTimeout,
    "ContentPolicyViolationError": FormatError,
    "UnsupportedParamsError": FormatError,
    "LiteLLMUnknownProvider": FormatError,
}
_PREFIX = re.compile(r"^(?:litellm\.)?\w*(?:Error|Exception|Timeout)\s*[:-]\s*")
_NO_KEY = re.compile(
    r"missing .{0,40}(?:api[ _]?key|credentials)|api_key (?:client option )?must be set", re.IGNORECASE
)
_NO_PACKAGE = re.compile(r"pip install", re.IGNORECASE)


def model_error(
    error: Exception, *, provider: str, model: str, now: float, secrets: Iterable[Secret] = ()
) -> ModelError:
    """Return the typed error.

    Args:
        error: litellm's exception.
        provider, model: The failed model.
        now: Seconds since the epoch.
        secrets: Secrets to remove from it.
    """
    status, message = read_refusal(error)
    return make_error(
        provider=provider,
        model=model,
        status=status,
        message=message,
        retry_after_s=requested_wait_s(error, message, now),
        secrets=secrets,
        kind=_kind(_cause(error), status, message),
    )


def read_refusal(error: Exception) -> tuple[int | None, str]:
    """Return the status and the words of a vendor's refusal; the words may hold a key."""
    cause = _cause(error)
    status = getattr(cause, "status_code", None)
    is_status = isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600
    return status if is_status else None, _stripped(str(cause) or type(cause).__name__)


def requested_wait_s(error: Exception, message: str, now: float) -> float | None:
    """Return after how many seconds the vendor wants to be asked again; None where it does not say."""
    return retry_after_s(_headers(error) or _headers(_cause(error)), message, now)


def _cause(error: Exception) -> Exception:
    original = getattr(error, "original_exception", None)
    return original if isinstance(original, Exception) else error


def _kind(error: Exception, status: int | None, message: str) -> type[ModelError] | None:
    """Return the class where the exception shows it better than status and words do."""
    if _NO_KEY.search(message):
        return AuthError
    if _NO_PACKAGE.search(message):
        return FormatError
    names = [cls.__name__ for cls in type(error).__mro__]
    for name in names:
        if name in _KINDS:
            return _KINDS[name]
    if status is None and ("APIConnectionError" in names or isinstance(error, (ConnectionError, OSError))):
        return Overloaded
    return None


def _headers(error: Exception) -> Mapping[str, str]:
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        if isinstance(headers, Mapping) and headers:
            return {str(name): str(value) for name, value in headers.items()}
    return {}


def _stripped(message: str) -> str:
    while (match := _PREFIX.match(message)) is not None and match.end() < len(message):
        message = message[match.end() :]
    return message
