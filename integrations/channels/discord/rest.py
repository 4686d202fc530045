"""Discord's REST API: one request at a time, with its failures mapped to message states.

Source: https://discord.com/developers/docs/reference
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePath
from typing import Any

import aiohttp

import hub
from hub.core.secret import Secret
from integrations.channels.http_api import HttpApi, refusal_state

CDN_HOSTS = ("cdn.discordapp.com", "media.discordapp.net")
MEANINGS = {
    10003: "the channel is not there any more",
    50001: "the bot is not in that server, or may not see the channel; invite it again",
}
"""What some refusals mean, by their codes."""
USER_AGENT = f"DiscordBot (homarus, {hub.__version__})"


class DiscordRest(HttpApi):
    """Sends requests as one bot.

    Args:
        root: The API, with its version.
    """

    def __init__(self, root: str, token: Secret) -> None:
        super().__init__("Discord", root, {"Authorization": f"Bot {token.reveal()}", "User-Agent": USER_AGENT})

    async def call(self, method: str, path: str, body: Any = None, files: Sequence[tuple[str, str, bytes]] = ()) -> Any:
        """Return the decoded answer; None for an empty one.

        Args:
            path: Below the root.
            body: Sent as JSON.
            files: Name, MIME type and content of each file beside the body.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        payload: dict[str, Any] = {} if body is None else {"json": body}
        if files:
            form = aiohttp.FormData()
            form.add_field("payload_json", json.dumps(body), content_type="application/json")
            for index, (name, mime_type, content) in enumerate(files):
                form.add_field(f"files[{index}]", content, filename=PurePath(name).name, content_type=mime_type)
            payload = {"data": form}
        answer = await self.request(method, path, **payload)
        status, data = answer.status, answer.json
        if status < 400 and (data is not None or not answer.body):
            return data
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        code = known.get("code", 0)
        text = f"{MEANINGS.get(code) or known.get('message') or 'refused'} (HTTP {status}, code {code})"
        if "errors" in known:
            text += f": {json.dumps(known['errors'])[:300]}"
        wait = known.get("retry_after") or answer.retry_after_s or (1.0 if status == 429 else None)
        state = refusal_state(status, own="message" in known)
        raise self.error(state, text, status=status, reason=code, retry_after_s=wait)

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file of Discord's own servers; the token is not sent to them."""
        return self.download(reference, (), cdn=CDN_HOSTS)
