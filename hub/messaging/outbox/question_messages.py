"""Puts an agent's questions into the conversation of the run that asks.

A question of a run without a chat, such as an automation's, goes where its owner last wrote; to nobody else.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.registry import CommandReply
from hub.messaging.contract import Address
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.owner_place import OwnerPlaces
from hub.messaging.texts import say
from hub.tools.approval import Approval
from hub.tools.approvals import EVENT_QUESTION_REQUESTED, Approvals
from hub.tools.questions import SECRET, choices_of

_log = logging.getLogger(__name__)

FindPlace = Callable[[str, str], Awaitable[Address | None]]
"""Returns where a run is held, given its id and its session."""


class QuestionMessages:
    """Sends questions.

    Args:
        approvals: Has the questions.
        places: Finds where an owner is reached.
        outbox: Sends the messages.
        language: The language of the home.
        buttons: Makes the buttons to answer with.
        place: Finds the chat of a run.
    """

    def __init__(
        self,
        approvals: Approvals,
        places: OwnerPlaces,
        outbox: Outbox,
        bus: EventBus,
        *,
        language: Callable[[], str],
        buttons: CommandButtons,
        place: FindPlace,
    ) -> None:
        self._approvals = approvals
        self._places = places
        self._outbox = outbox
        self._language = language
        self._buttons = buttons
        self._place = place
        self._unlisten = bus.listen(EVENT_QUESTION_REQUESTED, self._requested)

    def close(self) -> None:
        """Stop sending."""
        self._unlisten()

    async def _requested(self, event: Event) -> None:
        question = await self._approvals.get(event.data["id"])
        if question is None:
            return
        key = question.session_key or ""
        address, here = await self._place(question.run_id or "", key), True
        if address is None and question.requested_by.owner:
            found = await self._places.find(key)
            address, here = (None, True) if found is None else (found.address, found.session_key == key)
        if address is None or self._outbox.channels.is_home(address.channel):
            return  # people read the hub's own conversations in the dashboard, which shows it
        text = question_text(question, self._language(), here=here)
        menu = tuple((each, f"/answer {question.code} {at}") for at, each in enumerate(choices_of(question), 1))
        message = self._buttons.message(address, CommandReply(text, menu), plain=text)
        try:
            await self._outbox.send(address, message, event.context, session_key=key if here else None)
        except HubError as error:
            _log.warning("the question %s could not be sent: %s", question.code, error.message)


def question_text(question: Approval, language: str, *, here: bool = True) -> str:
    """Return the text of a question for a chat.

    Args:
        here: Whether what is written next in that chat is its answer.
    """
    minutes = max(1, round((question.expires_ms - question.created_ms) / 60_000))
    if SECRET in question.details:
        details = question.details
        hint = say("question.secret", language, name=details[SECRET], url=details["url"], minutes=minutes)
        return f"{details['question']}\n\n{hint}"
    hint = say("question.reply" if here else "question.elsewhere", language, code=question.code, minutes=minutes)
    choices = [f"{number}. {choice}" for number, choice in enumerate(choices_of(question), 1)]
    return "\n".join([str(question.details["question"]), *choices, "", hint])
