"""What is sent to Teams, as JSON: texts, and Adaptive Cards. Pure.

Format: https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-reference
"""

from __future__ import annotations

import base64
from typing import Any

from hub.messaging.contract import MediaKind, OutboundMedia, OutboundMessage, OutboundPoll
from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.msteams.events import BUTTON, CHOICE, POLL

CARD = "application/vnd.microsoft.card.adaptive"
CONSENT = "application/vnd.microsoft.teams.card.file.consent"
FILE_INFO = "application/vnd.microsoft.teams.card.file.info"
PICTURE_BYTES = 1_000_000
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})

Json = dict[str, Any]


def text_activity(text: str, *, plain: bool = False) -> Json:
    """Return a text; HTML, whose characters can all be escaped, with tables as code, which Teams lacks."""
    if plain:
        return {"type": "message", "text": text, "textFormat": "plain"}
    written = render(render(text, Flavour.DISCORD), Flavour.HTML_MATRIX)
    written = written.replace("<del>", "<s>").replace("</del>", "</s>")
    return {"type": "message", "text": written, "textFormat": "xml"}


def button_card(message: OutboundMessage) -> Json:
    """Return a text with its buttons below."""
    body = [_words(message.text)] if message.text else []
    rows = [
        {
            "type": "ActionSet",
            "actions": [_action(each.label, {BUTTON: each.value}) for each in row],
        }
        for row in message.buttons
    ]
    return _card([*body, *rows])


def poll_card(poll: OutboundPoll, vote: str) -> Json:
    """Return a poll; Teams shows its question and takes the votes, and counts none."""
    choices = {
        "type": "Input.ChoiceSet",
        "id": CHOICE,
        "style": "expanded",
        "isMultiSelect": poll.multiple,
        "choices": [{"title": option, "value": str(number)} for number, option in enumerate(poll.options)],
    }
    return _card([_words(poll.question), choices, {"type": "ActionSet", "actions": [_action(vote, {POLL: True})]}])


def picture(media: OutboundMedia, content: bytes) -> Json | None:
    """Return a picture that is shown in its message; None for what Teams does not show so."""
    mime = media.mime_type.partition(";")[0].strip().lower()
    if media.kind is not MediaKind.IMAGE or mime not in _PICTURES or len(content) > PICTURE_BYTES:
        return None
    url = f"data:{mime};base64,{base64.b64encode(content).decode()}"
    return {"type": "message", "attachments": [{"contentType": mime, "contentUrl": url, "name": media.name}]}


def consent_card(name: str, size: int, id: str, description: str) -> Json:
    """Return the question whether a file may be put into somebody's OneDrive."""
    context = {"id": id}
    content = {
        "description": description,
        "sizeInBytes": size,
        "acceptContext": context,
        "declineContext": context,
    }
    return {"type": "message", "attachments": [{"contentType": CONSENT, "name": name, "content": content}]}


def file_card(upload: Json) -> Json:
    """Return a file that was put there."""
    content = {"uniqueId": upload["uniqueId"], "fileType": upload["fileType"]}
    card = {"contentType": FILE_INFO, "contentUrl": upload["contentUrl"], "name": upload["name"], "content": content}
    return {"type": "message", "attachments": [card]}


def _card(body: list[Json]) -> Json:
    content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    return {"type": "message", "attachments": [{"contentType": CARD, "content": content}]}


def _words(text: str) -> Json:
    return {"type": "TextBlock", "text": render(text, Flavour.DISCORD), "wrap": True}


def _action(title: str, data: Json) -> Json:
    """Return a button; clients that do not know the newer kind send the same data in a message."""
    return {"type": "Action.Execute", "title": title, "verb": "homarus", "data": data, "fallback": "Action.Submit"}
