"""Nextcloud's APIs: one request at a time, and what its failure means for a message.

Source: https://nextcloud-talk.readthedocs.io
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpAnswer, HttpApi, PlatformError, refusal_state

TALK = "ocs/v2.php/apps/spreed/api"
HELP = {
    "reply-to": "the message that it replies to is gone",
    "age": "the message is too old to be changed",
    403: "the conversation takes no messages from this account",
    404: "the account is not in this conversation, or the message is gone",
    412: "the conversation has a lobby, and waits for a moderator",
    413: "it is too large for this Nextcloud",
    507: "the account has no room left for files",
}
"""What some refusals mean, by Talk's own code or the status."""
PAUSE_S = 30.0
"""After 429: Nextcloud's protection against guessing says no time."""


class NextcloudApi(HttpApi):
    """Sends requests as one user.

    Args:
        url: The address of the Nextcloud.
        user: The name to sign in with.
    """

    def __init__(self, url: str, user: str, password: Secret) -> None:
        credentials = base64.b64encode(f"{user}:{password.reveal()}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "OCS-APIRequest": "true", "Accept": "application/json"}
        super().__init__("Nextcloud", url, headers)

    async def call(self, method: str, path: str, **request: Any) -> Any:
        """Return the data that a request is answered with; None for none.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        return (await self.ask(method, path, **request))[0]

    async def ask(self, method: str, path: str, **request: Any) -> tuple[Any, HttpAnswer]:
        """Return the data of an answer, and the answer; see `call`."""
        answer = await self.request(method, path, **request)
        if answer.status == 304:
            return None, answer
        found = answer.json
        ocs = found.get("ocs") if isinstance(found, dict) else None
        if answer.status < 300 and isinstance(ocs, dict):
            return ocs.get("data"), answer
        raise self._refused(answer, ocs)

    async def dav(self, method: str, path: str, *, done_already: int = 0, **request: Any) -> None:
        """Do something with a file.

        Args:
            path: From the root of the user's files; see `file`.
            done_already: The status for what had been done before.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        answer = await self.request(method, path, **request)
        if not 200 <= answer.status < 300 and answer.status != done_already:
            raise self._refused(answer, None)

    def _refused(self, answer: HttpAnswer, ocs: Any) -> PlatformError:
        status = answer.status
        data = ocs.get("data") if isinstance(ocs, dict) else None
        code = data.get("error") if isinstance(data, dict) else None
        closed = answer.headers.get("X-Nextcloud-Maintenance-Mode") == "1"
        state = refusal_state(status, own=isinstance(ocs, dict) or closed)
        if status == 429:
            text = "too many requests"
        elif closed:
            text = "is being maintained"
        elif status < 400:
            text = f"answered something else (HTTP {status}); is the address that of the Nextcloud?"
        else:
            told = (ocs.get("meta") or {}).get("message") if isinstance(ocs, dict) else None
            text = HELP.get(code or "") or HELP.get(status) or told or f"failed (HTTP {status})"
        wait = answer.retry_after_s or (PAUSE_S if status == 429 or closed else None)
        return self.error(state, text, status=status, reason=code or status, retry_after_s=wait)

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its path; see `file`.

        Raises:
            PlatformError: It is not available.
        """
        return self.download(self.root + reference, ())


def file(user: str, path: str) -> str:
    """Return where a file of a user is, below the root."""
    return f"remote.php/dav/files/{quote(user, safe='')}/{quote(path.lstrip('/'))}"


def is_lost(state: DeliveryState, status: int) -> bool:
    """Whether waiting does not help: a conversation that was left, or is gone."""
    return state is DeliveryState.PERMANENT and status != 401
