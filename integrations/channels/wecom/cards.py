"""Template cards of WeCom: buttons below a text, and votes.

Source: https://developer.work.weixin.qq.com/document/path/101032
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from integrations.channels.wecom.events import VOTE

TITLE_CHARS, TEXT_CHARS, LABEL_CHARS = 26, 112, 20
"""What a card shows whole; WeCom cuts the rest."""
BUTTONS, OPTIONS, KEY_BYTES = 6, 20, 1024

Json = dict[str, Any]


def buttons_card(id: str, text: str, buttons: Sequence[tuple[str, str]]) -> Json:
    """Return a card with a text and buttons.

    Args:
        id: Comes back with what is pressed.
        buttons: Their labels and values.
    """
    return {
        "card_type": "button_interaction",
        **_headed(text),
        "button_list": [{"text": label, "key": key, "style": 1} for label, key in buttons],
        "task_id": id,
    }


def vote_card(id: str, question: str, options: Sequence[str], *, multiple: bool, submit: str) -> Json:
    """Return a card to vote; options come back by their numbers."""
    choices = [{"id": str(number), "text": option} for number, option in enumerate(options)]
    return {
        "card_type": VOTE,
        "main_title": {"title": question[:TITLE_CHARS], "desc": question[TITLE_CHARS:]},
        "checkbox": {"question_key": "vote", "option_list": choices, "mode": int(multiple)},
        "submit_button": {"text": submit, "key": "vote"},
        "task_id": id,
    }


def _headed(text: str) -> Json:
    return {"main_title": {"title": text}} if len(text) <= TITLE_CHARS else {"sub_title_text": text}
