"""The latest messages of a topic, for people who look: `homarus mqtt listen` and the page of the dashboard."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import LimitExceeded
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage

KEPT = 500
"""Messages that are kept for each filter."""
LOOKERS_LIMIT = 50
LEASE_S = 90.0
"""Who has not looked for so long has gone."""
SHOWN_BYTES = 16_384


class _Tap:
    def __init__(self) -> None:
        self.messages: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self.number = 0
        self.looked_at = 0.0
        self.came = asyncio.Event()


class Taps:
    """Keeps the last messages of each filter that somebody looks at."""

    def __init__(self, bridge: MqttBridge, clock: Clock) -> None:
        self._bridge = bridge
        self._clock = clock
        self._taps: dict[str, tuple[_Tap, Any]] = {}

    async def look(self, topic_filter: str, after: int, wait_s: float) -> dict[str, Any]:
        """Return the messages after a number, waiting for one if there is none.

        Raises:
            LimitExceeded: Too many filters are looked at.
        """
        tap = self._tap(topic_filter)
        tap.looked_at = self._clock.monotonic()
        if tap.number <= after and wait_s:
            tap.came.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await tap.came.wait()
            except TimeoutError:
                pass
        return {"messages": [each for each in tap.messages if each["number"] > after], "last": tap.number}

    def _tap(self, topic_filter: str) -> _Tap:
        now = self._clock.monotonic()
        for name, (tap, end) in list(self._taps.items()):
            if now - tap.looked_at > LEASE_S:
                end()
                del self._taps[name]
        if topic_filter not in self._taps:
            if len(self._taps) >= LOOKERS_LIMIT:
                raise LimitExceeded(f"{LOOKERS_LIMIT} topics are watched already; try again in {LEASE_S:g} s")
            tap = _Tap()
            tap.looked_at = now

            def came(message: MqttMessage) -> None:
                tap.number += 1
                tap.messages.append({"number": tap.number, "time": self._clock.time(), **message_data(message)})
                tap.came.set()

            self._taps[topic_filter] = (tap, self._bridge.listen(topic_filter, came))
        return self._taps[topic_filter][0]


def message_data(message: MqttMessage) -> dict[str, Any]:
    """Return a message as plain data; binary payloads are in base64."""
    payload = message.payload[:SHOWN_BYTES]
    try:
        text, encoding = payload.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(payload).decode(), "base64"
    cut = len(message.payload) > SHOWN_BYTES
    return {
        "topic": message.topic,
        "payload": text,
        "encoding": encoding,
        "cut": cut,
        "qos": message.qos,
        "retain": message.retain,
    }
