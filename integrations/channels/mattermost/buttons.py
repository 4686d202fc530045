"""Buttons of Mattermost: what is sent with them, and the calls that its server makes when one is pressed.

Source: https://developers.mattermost.com/integrate/plugins/interactive-messages
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import orjson
from msgspec import Struct

from hub.core.errors import Unauthorized
from hub.core.secret import Secret
from hub.messaging.contract import Button
from integrations.channels.acknowledging import MALFORMED

BODY_BYTES = 65_536


class ButtonCall(Struct, frozen=True):
    """A call that the server made: somebody pressed a button."""

    id: str
    room: str
    post: str
    user: str
    user_name: str | None
    value: str


def attachment(buttons: Sequence[Sequence[Button]], url: str, token: Secret, room: str) -> dict[str, Any]:
    """Return the attachment of a post with buttons.

    Args:
        url: What the server calls.
        token: Signs what a button carries; the server keeps that to itself.
        room: Where they are shown.
    """
    actions = [
        {
            "id": f"button{place}",
            "type": "button",
            "name": each.label,
            "integration": {
                "url": url,
                "context": {"value": each.value, "signature": _signature(token, room, each.value)},
            },
        }
        for place, each in enumerate(button for row in buttons for button in row)
    ]
    return {"fallback": ", ".join(each.label for row in buttons for each in row), "actions": actions}


def call_of(body: bytes, token: Secret) -> ButtonCall:
    """Return the call in a body.

    Mattermost signs none of its calls: the signature is the hub's own, which comes back with the button.

    Raises:
        Unauthorized: It is not a call for a button that was sent with this token.
    """
    try:
        data = orjson.loads(body)
        context, room = data["context"], data["channel_id"]
        value, given = context["value"], context["signature"]
        if hmac.compare_digest(given.encode(), _signature(token, room, value).encode()):
            # Without an id of the press, the second press of a button counts as the first.
            id = data.get("trigger_id") or f"{data['post_id']}:{data['user_id']}:{sha256(value.encode()).hexdigest()}"
            return ButtonCall(id, room, data["post_id"], data["user_id"], data.get("user_name"), value)
    except MALFORMED:
        pass
    raise Unauthorized("this is no call for a button of this account")


def _signature(token: Secret, room: str, value: str) -> str:
    return hmac.new(token.reveal().encode(), f"button\n{room}\n{value}".encode(), sha256).hexdigest()
