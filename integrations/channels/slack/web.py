"""Slack's Web API: one request at a time, and what its failure means for a message.

Source: https://docs.slack.dev/apis/web-api
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, refusal_state

FAILED_MIDWAY = frozenset({"internal_error", "fatal_error"})
"""With these, Slack says, a part may have been done: a message is looked up before it is sent again."""
FAILED_FOR_NOW = frozenset({"ratelimited", "request_timeout", "service_unavailable", "team_added_to_org"})
MEANINGS = {
    "channel_not_found": "the channel is gone, or the app is not in it; invite it again",
    "is_archived": "the channel is archived",
    "not_in_channel": "the app is not in the channel; invite it again",
}
"""What some refusals mean."""
FILE_HOSTS = (".slack.com",)
CDN_HOSTS = (".slack-edge.com", "slack-files.com", ".slack-files.com")
"""Where files of some workspaces are, by addresses that Slack signs itself."""


class SlackWeb(HttpApi):
    """Sends requests with the bot's token.

    Args:
        root: The API, without a method.

    Attributes:
        scopes: What the token may do, as the last answer said.
    """

    def __init__(self, root: str, token: Secret) -> None:
        super().__init__("Slack", root, _bearer(token))
        self.scopes: frozenset[str] = frozenset()

    async def call(self, method: str, *, token: Secret | None = None, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a method; arguments that are None are left out.

        Args:
            token: Another token than the bot's.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        form = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in arguments.items()
            if value is not None
        }
        other: dict[str, Any] = {} if token is None else {"headers": _bearer(token)}
        answer = await self.request("POST", method, data=form, **other)
        status, data = answer.status, answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if token is None and (told := answer.headers.get("x-oauth-scopes")):
            self.scopes = frozenset(told.replace(" ", "").split(","))
        error = known.get("error", "")
        if known.get("ok") and status < 400:
            return known
        own = known.get("ok") is False
        state = refusal_state(status, own=own)
        if own and error in FAILED_MIDWAY:
            state = DeliveryState.UNKNOWN
        elif own and status < 400 and error not in FAILED_FOR_NOW:
            state = DeliveryState.PERMANENT
        limited = status == 429 or error == "ratelimited"
        needed = f" (needs {known['needed']})" if "needed" in known else ""
        meant = f"{MEANINGS[error]} ({error})" if error in MEANINGS else error
        text = "too many requests" if limited else f"{meant or f'failed (HTTP {status})'}{needed}"
        wait = answer.retry_after_s or (1.0 if limited else None)
        raise self.error(state, f"{method}: {text}", reason=error, retry_after_s=wait)

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file and return its id; it is shown to nobody yet."""
        place = await self.call("files.getUploadURLExternal", filename=name, length=len(content))
        answer = await self.request("POST", place["upload_url"], data=content)
        if answer.status != 200:
            raise self.error(DeliveryState.TRANSIENT, f"{name} was refused (HTTP {answer.status})")
        return str(place["file_id"])

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its id; instead of one that the app may not read, Slack shows a page to sign in.

        Raises:
            PlatformError: It is not available.
        """
        info = (await self.call("files.info", file=reference))["file"]
        url = info.get("url_private_download") or info.get("url_private") or ""
        sign_in = None if info.get("mimetype") == "text/html" else "text/html"
        async for piece in self.download(url, FILE_HOSTS, cdn=CDN_HOSTS, refused_type=sign_in):
            yield piece


def _bearer(token: Secret) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.reveal()}"}
