"""Twilio: its API, and TwiML. https://www.twilio.com/docs/voice"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from aiohttp import encode_basic_auth

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state

TOKEN_REFUSED = frozenset({20003, 20005})
"""Wrong credentials, and an account that is not active."""

# --- TwiML ---


def connect(stream_url: str, token: str) -> str:
    """Return the answer that connects a call with a stream."""
    parameter = f'<Parameter name="token" value={quoteattr(token)}/>'
    return _response(f"<Connect><Stream url={quoteattr(stream_url)}>{parameter}</Stream></Connect>")


def say_twice(text: str, language: str) -> str:
    """Return the answer that says something, once more after a pause, and hangs up."""
    said = f"<Say language={quoteattr(language)}>{escape(text)}</Say>"
    return _response(f'{said}<Pause length="1"/>{said}<Hangup/>')


def reject() -> str:
    """Return the answer that takes no call, which costs nothing."""
    return _response("<Reject/>")


def dial(number: str) -> str:
    """Return the instruction that puts a call through to another number."""
    return _response(f"<Dial>{escape(number)}</Dial>")


def _response(verbs: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>'


# --- the API ---


class TwilioApi(HttpApi):
    """The API as one account.

    Args:
        root: With its version.
        sid: The account's.
    """

    def __init__(self, root: str, sid: str, token: Secret) -> None:
        super().__init__("Twilio", root, {"Authorization": encode_basic_auth(sid, token.reveal())})
        self._account = f"Accounts/{sid}"

    async def call(self, method: str, path: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return what the API answers.

        Args:
            path: Behind that of the account, such as `/Calls.json`.

        Raises:
            PlatformError: It refuses, or cannot be reached.
        """
        answer = await self.request(method, self._account + path, data=form)
        body = answer.json
        if 200 <= answer.status < 300 and isinstance(body, dict):
            return body
        own = isinstance(body, dict) and isinstance(body.get("code"), int)
        code = body["code"] if own and body is not None else None
        told = f"{body.get('message')} ({code})" if own and body is not None else f"HTTP {answer.status}"
        state = DeliveryState.UNKNOWN if answer.status < 400 else refusal_state(answer.status, own=own)
        raise self.error(state, str(told)[:300], status=answer.status, reason=code, retry_after_s=answer.retry_after_s)


def is_refusal(error: PlatformError) -> bool:
    """Whether Twilio does not take the account's token."""
    return error.status == 401 or error.reason in TOKEN_REFUSED
