"""Asks for approvals and agents' questions in chats, and tells who writes meanwhile what their turn waits for.

An approval goes to the owner alone, in the conversation that caused it, else where they last wrote; never into a group:
it may contain what only the owner should see. A question goes into the conversation of the run that asks; one of a run
without a chat, such as an automation's, goes where its owner last wrote, and to nobody else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.messaging.access.decide import Accept
from hub.messaging.access.router import Router
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.registry import CommandReply
from hub.messaging.contract import Address, ChatType
from hub.messaging.notices.owner_place import OwnerPlaces
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.outbox_rows import Outgoing
from hub.messaging.queue.queue_policy import QueueMode
from hub.messaging.texts import say
from hub.tools.approval import ALWAYS, QUESTION, Approval, details_text
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED, EVENT_QUESTION_REQUESTED, Approvals
from hub.tools.questions import SECRET, choices_of

_log = logging.getLogger(__name__)

_NAMED_KINDS = frozenset({"tool", "service", "automation", "exec"})
_BACKTICKS = re.compile(r"`{3,}")

FindPlace = Callable[[str, str], Awaitable[Address | None]]
"""Returns where a run is held, given its id and its session."""


class ApprovalMessages:
    """Sends these messages, and the buttons to answer with.

    Args:
        approvals: The pending approvals and questions.
        places: Finds where an owner is reached.
        outbox: Sends the messages.
        router: The router with the current settings.
        place: Finds the chat of a run.
    """

    def __init__(
        self,
        approvals: Approvals,
        places: OwnerPlaces,
        outbox: Outbox,
        router: Router,
        bus: EventBus,
        clock: Clock,
        *,
        buttons: CommandButtons,
        place: FindPlace,
    ) -> None:
        self._approvals = approvals
        self._places = places
        self._outbox = outbox
        self._router = router
        self._clock = clock
        self._buttons = buttons
        self._place = place
        self._told: set[str] = set()
        bus.listen(EVENT_APPROVAL_REQUESTED, self._ask_for_approval)
        bus.listen(EVENT_QUESTION_REQUESTED, self._ask_question)

    async def notify_queued(self, accepted: Accept) -> None:
        """Tell a sender what their queued message waits for, once for each wait."""
        address = accepted.message.address
        if self._outbox.channels.is_home(address.channel):
            return  # the dashboard shows what waits
        if self._router.queue_policy(address, accepted.session_key).mode is QueueMode.INTERRUPT:
            return  # what is interrupted waits no more
        every = [*self._approvals.pending(), *self._approvals.questions()]
        self._told &= {each.id for each in every}
        fresh = [each for each in every if each.id not in self._told and _is_own(each, accepted)]
        if not fresh:
            return
        self._told |= {each.id for each in fresh}
        text = "\n\n".join(dict.fromkeys(self._waiting_text(each, accepted) for each in fresh))
        await self._send(address, text, accepted.context, accepted.session_key, "what waits for an answer")

    async def _ask_for_approval(self, event: Event) -> None:
        approval = await self._approvals.get(event.data["id"])
        place = await self._places.find(event.data["session_key"])
        if approval is None or place is None:
            return
        language = self._router.settings.language
        text = approval_text(replace(approval, text=self._approvals.translate(approval.text, language)), language)
        menu = [(say(f"approval.{word}", language), f"/{word} {approval.code}") for word in ("approve", "deny")]
        if approval.may_persist:
            menu.insert(1, (say("approval.always", language), f"/approve {approval.code} {ALWAYS}"))
        message = self._with_buttons(place.address, text, menu)
        await self._send(
            place.address, message, event.context, place.session_key, f"the question about {approval.title}"
        )

    async def _ask_question(self, event: Event) -> None:
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
        text = question_text(question, self._router.settings.language, here=here)
        menu = [(each, f"/answer {question.code} {at}") for at, each in enumerate(choices_of(question), 1)]
        message = self._with_buttons(address, text, menu)
        await self._send(address, message, event.context, key if here else None, f"the question {question.code}")

    def _with_buttons(self, address: Address, text: str, menu: Iterable[tuple[str, str]]) -> Outgoing:
        return self._buttons.message(address, CommandReply(text, tuple(menu)), plain=text)

    async def _send(
        self, address: Address, content: str | Outgoing, context: Context, session_key: str | None, what: str
    ) -> None:
        try:
            await self._outbox.send(address, content, context, session_key=session_key)
        except HubError as error:
            _log.warning("%s could not be sent: %s", what, error.message)

    def _waiting_text(self, waiting: Approval, accepted: Accept) -> str:
        language = self._router.settings.language
        minutes = _minutes(waiting.expires_ms - self._clock.time() * 1000)
        if SECRET in waiting.details:
            how = _secret_hint(waiting, language, minutes)
        elif waiting.kind == QUESTION:
            how = say("question.elsewhere", language, code=waiting.code, minutes=minutes)
        elif not accepted.context.authority.owner or accepted.message.address.chat_type is not ChatType.DIRECT:
            return say("waiting.owners", language)  # what it is only the owner should see, and no group
        else:
            how = say("approval.answer", language, code=waiting.code, minutes=minutes)
        return f"{say('waiting.yours', language, title=waiting.title)}\n{how}"


def approval_text(approval: Approval, language: str) -> str:
    """Return the text of an approval: what it is, why, exactly what will run, and how to answer."""
    kind = approval.kind if approval.kind in _NAMED_KINDS else "other"
    details = details_text(approval.details)
    fence = max([*_BACKTICKS.findall(details), "``"], key=len) + "`"
    minutes = _minutes(approval.expires_ms - approval.created_ms)
    return "\n".join(
        [
            say(f"approval.asked.{kind}", language, title=approval.title),
            *filter(None, [approval.text]),
            f"{fence}json\n{details}\n{fence}",
            say("approval.answer", language, code=approval.code, minutes=minutes),
            *([say("approval.for_good", language, code=approval.code)] if approval.may_persist else []),
        ]
    )


def question_text(question: Approval, language: str, *, here: bool = True) -> str:
    """Return the text of a question for a chat.

    Args:
        here: Whether what is written next in that chat is its answer.
    """
    minutes = _minutes(question.expires_ms - question.created_ms)
    if SECRET in question.details:
        return f"{question.details['question']}\n\n{_secret_hint(question, language, minutes)}"
    hint = say("question.reply" if here else "question.elsewhere", language, code=question.code, minutes=minutes)
    choices = [f"{number}. {choice}" for number, choice in enumerate(choices_of(question), 1)]
    return "\n".join([str(question.details["question"]), *choices, "", hint])


def _secret_hint(question: Approval, language: str, minutes: int) -> str:
    details = question.details
    return say("question.secret", language, name=details[SECRET], url=details["url"], minutes=minutes)


def _minutes(left_ms: float) -> int:
    return max(1, round(left_ms / 60_000))


def _is_own(waiting: Approval, accepted: Accept) -> bool:
    """Return whether a turn of the sender waits in the conversation they write in."""
    asker, sender = waiting.requested_by, accepted.context.authority
    if waiting.session_key not in {accepted.session_key, *(key for _, key in accepted.also)}:
        return False
    return asker.person == sender.person if asker.person is not None else asker.principal == sender.principal
