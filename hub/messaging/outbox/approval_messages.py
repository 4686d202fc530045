"""Asks for approvals in chat: in the owner's conversation that caused it, else where they last wrote.

Never into a group or to anyone else: a question may contain what only the owner should see.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.registry import CommandReply
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.owner_place import OwnerPlaces
from hub.messaging.texts import say
from hub.tools.approval import ALWAYS, Approval, details_text
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED, Approvals

_log = logging.getLogger(__name__)

_NAMED_KINDS = frozenset({"tool", "service", "automation", "exec"})
_BACKTICKS = re.compile(r"`{3,}")


class ApprovalMessages:
    """Tells an owner about pending approvals.

    Args:
        approvals: The pending approvals.
        places: Finds where an owner is reached.
        outbox: Sends the messages.
        language: The language of the home.
        buttons: Makes the buttons to answer with.
    """

    def __init__(
        self,
        approvals: Approvals,
        places: OwnerPlaces,
        outbox: Outbox,
        bus: EventBus,
        language: Callable[[], str],
        *,
        buttons: CommandButtons,
    ) -> None:
        self._approvals = approvals
        self._places = places
        self._outbox = outbox
        self._language = language
        self._buttons = buttons
        self._unlisten = bus.listen(EVENT_APPROVAL_REQUESTED, self._requested)

    def close(self) -> None:
        """Stop sending messages."""
        self._unlisten()

    async def _requested(self, event: Event) -> None:
        approval = await self._approvals.get(event.data["id"])
        place = await self._places.find(event.data["session_key"])
        if approval is None or place is None:
            return
        language = self._language()
        text = question(replace(approval, text=self._approvals.translate(approval.text, language)), language)
        menu = [(say(f"approval.{word}", language), f"/{word} {approval.code}") for word in ("approve", "deny")]
        if approval.may_persist:
            menu.insert(1, (say("approval.always", language), f"/approve {approval.code} {ALWAYS}"))
        message = self._buttons.message(place.address, CommandReply(text, tuple(menu)), plain=text)
        try:
            await self._outbox.send(place.address, message, event.context, session_key=place.session_key)
        except HubError as error:
            _log.warning("the question about %s could not be sent: %s", approval.title, error.message)


def question(approval: Approval, language: str) -> str:
    """Return the text of an approval: what it is, why, exactly what will run, and how to answer."""
    kind = approval.kind if approval.kind in _NAMED_KINDS else "other"
    details = details_text(approval.details)
    fence = max([*_BACKTICKS.findall(details), "``"], key=len) + "`"
    minutes = max(1, round((approval.expires_ms - approval.created_ms) / 60_000))
    return "\n".join(
        [
            say(f"approval.asked.{kind}", language, title=approval.title),
            *filter(None, [approval.text]),
            f"{fence}json\n{details}\n{fence}",
            say("approval.answer", language, code=approval.code, minutes=minutes),
            *([say("approval.for_good", language, code=approval.code)] if approval.may_persist else []),
        ]
    )
