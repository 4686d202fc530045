"""The card of pairing requests: the senders, a field for their code, and a way to refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.surfaces import ADMIN, HttpCall
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import Renderer


class PairingCard:
    """The card, on the page of channels and on Home; for administrators.

    Args:
        client: Calls the methods for requests.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def data(self, call: HttpCall) -> list[dict[str, Any]] | None:
        """Return the pending requests, oldest first; None for those who may not answer."""
        if call.caller is None or not call.caller.authority.has(ADMIN):
            return None
        return self._shown(await self._client.ask(call, "pairing.list"))

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the card."""
        pairing = self._shown(await self._client.read("pairing.list"))
        html = self._renderer.fragment("pairing", language, pairing=pairing, refused=None)
        return ({"t": "html", "id": "pairing", "html": html},)

    def _shown(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {
                **each,
                "people": answer["people"],
                "since": self._renderer.when(each["createdAtMs"]),
                "since_iso": self._renderer.iso(each["createdAtMs"]),
                "until": self._renderer.when(each["expiresAtMs"]),
                "until_iso": self._renderer.iso(each["expiresAtMs"]),
            }
            for each in answer["requests"]
        ]
