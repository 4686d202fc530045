"""The first steps, and whether a home is as it was made, with nothing of a person's own. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.phrases import phrase
from web.channels.guides import GUIDES

WELCOME = "/welcome"
STARTER_NAME = "Me"
"""The owner's name in the starter configuration."""
STEPS: Mapping[str, tuple[str, str]] = {
    "you": (WELCOME, phrase("Welcome")),
    "model": (f"{WELCOME}/model", phrase("Your model")),
    "chat": (f"{WELCOME}/chat", phrase("Your chat app")),
    "phone": (f"{WELCOME}/phone", phrase("Your phone")),
    "found": (f"{WELCOME}/found", phrase("Found in your network")),
    "from": (f"{WELCOME}/from", phrase("Coming from another assistant")),
    "done": (f"{WELCOME}/done", phrase("That is all")),
}
"""Address and title of each step, in their order."""


def is_fresh(raw: Mapping[str, Any]) -> bool:
    """Whether the configuration names nobody, no model and no chat app.

    Args:
        raw: The configuration as written. A home without the starter's person was made by somebody who knows how.
    """
    people, models = raw.get("people"), raw.get("models")
    if not isinstance(people, list) or len(people) != 1 or people[0].get("name") != STARTER_NAME:
        return False
    return not (isinstance(models, Mapping) and models.get("providers")) and not any(raw.get(each) for each in GUIDES)
