"""signal-cli's daemon: calls by JSON-RPC, and the stream of received envelopes.

Source: https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import aiohttp

from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state

REQUEST_LIMIT_S = 50.0
SILENCE_LIMIT_S = 40.0
"""The daemon says something each 15 seconds; a stream that does not is dead."""
EVENT_LIMIT_BYTES = 4 * 1024 * 1024
RATE_LIMIT_S = 60.0
IO_ERROR, UNTRUSTED_KEY, RATE_LIMIT, CAPTCHA, INTERNAL_ERROR = -3, -4, -5, -6, -32603
STATES = {
    IO_ERROR: DeliveryState.UNKNOWN,  # it heard nothing from Signal itself
    RATE_LIMIT: DeliveryState.TRANSIENT,
    INTERNAL_ERROR: DeliveryState.TRANSIENT,
}
WHAT_TO_DO = {
    UNTRUSTED_KEY: "their safety number changed; compare it, then: signal-cli -a NUMBER trust -a THEIR_NUMBER",
    CAPTCHA: "Signal asks for a captcha; see docs/channels/signal.md",
}


class SignalRpc(HttpApi):
    """Calls the daemon for one account.

    Args:
        root: The daemon's address.
        silence_s: A stream that is silent for so long is dead.
    """

    def __init__(self, root: str, number: str, silence_s: float) -> None:
        super().__init__("signal-cli", root, limit_s=REQUEST_LIMIT_S)
        self._number = number
        self._silence_s = silence_s
        self._count = 0

    async def call(self, method: str, **params: Any) -> Any:
        """Return the result of a method; parameters that are None are left out.

        Raises:
            PlatformError: It was refused, failed, reached none of its recipients, or the answer was lost.
        """
        self._count += 1
        given = {"account": self._number} | {key: value for key, value in params.items() if value is not None}
        body = {"jsonrpc": "2.0", "id": str(self._count), "method": method, "params": given}
        answer = await self.request("POST", "api/v1/rpc", json=body)
        data = answer.json
        if not isinstance(data, dict) or not ("result" in data or "error" in data):
            state = refusal_state(answer.status, own=False)
            raise self.error(state, f"HTTP {answer.status} to {method}, and no JSON-RPC")
        if "error" in data:
            raise self._refusal(data["error"])
        result = data["result"]
        if isinstance(result, dict) and (failure := self._failure_of(result.get("results"))) is not None:
            raise failure
        return result

    async def events(self, opened: Callable[[], None], heard: Callable[[], None]) -> AsyncGenerator[str, None]:
        """Yield the data of each event until the stream ends.

        Args:
            opened: Called when the daemon streams.
            heard: Called for each line, keep-alives too.
        """
        limit = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_LIMIT_S, sock_read=self._silence_s)
        url, query = f"{self.root}api/v1/events", {"account": self._number}
        async with self.session.get(url, params=query, timeout=limit, read_bufsize=EVENT_LIMIT_BYTES) as response:
            response.raise_for_status()
            opened()
            data: list[str] = []
            async for raw in response.content:
                heard()
                line = raw.decode(errors="replace").rstrip("\r\n")
                if line.startswith("data:"):
                    data.append(line[5:].lstrip())
                elif not line and data:
                    yield "\n".join(data)
                    data = []

    def _failure_of(self, results: Any) -> PlatformError | None:
        """Return the failure of a message that reached no recipient."""
        kinds = {each.get("type"): each for each in results or ()}
        if not kinds or "SUCCESS" in kinds:
            return None
        if limited := kinds.get("RATE_LIMIT_FAILURE"):
            wait = float(limited.get("retryAfterSeconds") or RATE_LIMIT_S)
            return self.error(DeliveryState.TRANSIENT, "too many messages", retry_after_s=wait)
        if "NETWORK_FAILURE" in kinds:
            return self.error(DeliveryState.UNKNOWN, "the network failed while it was sent")
        if "IDENTITY_FAILURE" in kinds:
            return self.error(DeliveryState.PERMANENT, WHAT_TO_DO[UNTRUSTED_KEY])
        return self.error(DeliveryState.PERMANENT, f"not delivered: {', '.join(sorted(map(str, kinds)))}")

    def _refusal(self, error: dict[str, Any]) -> PlatformError:
        code, data = int(error.get("code") or 0), error.get("data") or {}
        response = data.get("response") if isinstance(data, dict) else None
        if isinstance(response, dict) and (found := self._failure_of(response.get("results"))) is not None:
            return found
        text = f"{error.get('message', 'refused')} (code {code})"
        if code in WHAT_TO_DO:
            text += f"; {WHAT_TO_DO[code]}"
        wait = RATE_LIMIT_S if code == RATE_LIMIT else None
        return self.error(STATES.get(code, DeliveryState.PERMANENT), text, retry_after_s=wait)
