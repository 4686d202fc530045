"""The phones that automations, scripts and groups of a Home Assistant notify, which are to be paired here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hub.config.marks import plain
from hub.core.phrases import phrase
from hub.migrate.plan import MoveItem, Verdict

NAMES_LIMIT = 3
_PHONE = re.compile(r"\bmobile_app_(?!notification_)[a-z0-9_]+")
"""The service of a phone, in a step or in a group of `notify:`."""


class TheirPhones:
    """The phones that what comes along notifies."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}

    def look(self, name: str, value: Any) -> None:
        """Look for phones in something that comes along."""
        for phone in _PHONE.findall(json.dumps(plain(value), default=str)):
            self._found.setdefault(phone, {})[name] = None

    def items(self) -> Iterator[MoveItem]:
        """Yield each with what is to be done, as an item of the plan."""
        for service, by in sorted(self._found.items()):
            names = [*by][:NAMES_LIMIT] + (["…"] if len(by) > NAMES_LIMIT else [])
            why = phrase(
                "{names} notify it: pair the phone on the page Phones and name it {phone}, or point its app of Home "
                "Assistant at this hub; until then nothing arrives there",
                names=", ".join(names),
                phone=service.removeprefix("mobile_app_").replace("_", " "),
            )
            yield MoveItem("phone", f"notify.{service}", Verdict.WAITS, (why,))
