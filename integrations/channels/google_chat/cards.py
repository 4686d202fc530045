"""What is sent to Google Chat, as JSON. Pure.

Format: https://developers.google.com/workspace/chat/api/reference/rest/v1/cards
"""

from __future__ import annotations

import re
from typing import Any

from hub.messaging.contract import OutboundMessage, OutboundPoll
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.google_chat.events import BUTTON, CHOICE, POLL

Json = dict[str, Any]

_MENTION = re.compile(r"<(?=users/)")


def text_of(text: str) -> str:
    """Return a text in Chat's markup, in which nobody is mentioned: `<users/all>` would call everybody."""
    return _MENTION.sub("<\u200b", render(text, Flavour.WHATSAPP))


def button_cards(message: OutboundMessage, function: str) -> list[Json]:
    """Return the buttons below a message, a row of them in each list."""
    rows = [[_button(each.label, BUTTON, each.value, function) for each in row] for row in message.buttons]
    return [_card([{"buttonList": {"buttons": row}} for row in rows])]


def poll_cards(poll: OutboundPoll, function: str, vote: str) -> list[Json]:
    """Return a poll; Chat takes the votes, and counts none."""
    items = [{"text": each, "value": str(number), "selected": False} for number, each in enumerate(poll.options)]
    kind = "CHECK_BOX" if poll.multiple else "RADIO_BUTTON"
    choices = {"selectionInput": {"name": CHOICE, "type": kind, "items": items}}
    return [_card([choices, {"buttonList": {"buttons": [_button(vote, POLL, "1", function)]}}])]


def _card(widgets: list[Json]) -> Json:
    return {"cardId": "homarus", "card": {"sections": [{"widgets": widgets}]}}


def _button(label: str, key: str, value: str, function: str) -> Json:
    action = {"function": function, "parameters": [{"key": key, "value": value}]}
    return {"text": label, "onClick": {"action": action}}
