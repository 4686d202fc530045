"""Tells senders what their waiting turn waits for, once for each wait."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.messaging.access.decide import Accept
from hub.messaging.access.router import Router
from hub.messaging.contract import Address, ChatType
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.queue.queue_policy import QueueMode
from hub.messaging.texts import say
from hub.sessions.session import Session
from hub.tools.approval import QUESTION, Approval
from hub.tools.approvals import Approvals
from hub.tools.questions import SECRET

_log = logging.getLogger(__name__)


class WaitingNotices:
    """Sends the notices.

    Args:
        approvals: The pending approvals.
        router: The router with the current settings.
        session: Returns a conversation by its key.
        outbox: Sends the messages.
    """

    def __init__(
        self,
        approvals: Approvals,
        router: Router,
        session: Callable[[str], Session | None],
        outbox: Outbox,
        clock: Clock,
    ) -> None:
        self._approvals, self._router, self._session = approvals, router, session
        self._outbox, self._clock = outbox, clock
        self._told: set[str] = set()

    async def notify_queued(self, accepted: Accept) -> None:
        """Tell a sender what their queued message waits for, unless they know."""
        address = accepted.message.address
        if self._outbox.channels.is_home(address.channel) or self._interrupts(accepted.session_key, address):
            return  # the dashboard shows what waits; what is interrupted waits no more
        every = [*self._approvals.pending(), *self._approvals.questions()]
        self._told &= {each.id for each in every}
        fresh = [each for each in every if each.id not in self._told and _is_own(each, accepted)]
        if not fresh:
            return
        self._told |= {each.id for each in fresh}
        text = "\n\n".join(dict.fromkeys(self._text(each, accepted) for each in fresh))
        try:
            await self._outbox.send(address, text, accepted.context, session_key=accepted.session_key)
        except HubError as error:
            _log.warning("that %s waits for an answer could not be said: %s", accepted.session_key, error.message)

    def _interrupts(self, session_key: str, address: Address) -> bool:
        session = self._session(session_key)
        policy = self._router.settings.queue.of(address.channel, session.queue if session is not None else None)
        return policy.mode is QueueMode.INTERRUPT

    def _text(self, waiting: Approval, accepted: Accept) -> str:
        language = self._router.settings.language
        minutes = max(1, round((waiting.expires_ms / 1000 - self._clock.time()) / 60))
        if SECRET in waiting.details:
            details = waiting.details
            how = say("question.secret", language, name=details[SECRET], url=details["url"], minutes=minutes)
        elif waiting.kind == QUESTION:
            how = say("question.elsewhere", language, code=waiting.code, minutes=minutes)
        elif not accepted.context.authority.owner or accepted.message.address.chat_type is not ChatType.DIRECT:
            return say("waiting.owners", language)  # what it is only the owner should see, and no group
        else:
            how = say("approval.answer", language, code=waiting.code, minutes=minutes)
        return f"{say('waiting.yours', language, title=waiting.title)}\n{how}"


def _is_own(waiting: Approval, accepted: Accept) -> bool:
    """Return whether a turn of the sender waits in the conversation they write in."""
    asker, sender = waiting.requested_by, accepted.context.authority
    if waiting.session_key not in {accepted.session_key, *(key for _, key in accepted.also)}:
        return False
    return asker.person == sender.person if asker.person is not None else asker.principal == sender.principal
