"""Answers to an agent's question: the next message of the person asked in that conversation, or /answer."""

from __future__ import annotations

from collections.abc import Callable

from hub.core.errors import HubError
from hub.messaging.access.decide import Accept
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall
from hub.messaging.inbound import ChatType
from hub.messaging.inbox.interceptor import Answer, Interceptor
from hub.messaging.texts import say
from hub.tools.approval_rights import may_answer_question
from hub.tools.approvals import Approvals
from hub.tools.questions import SECRET


class QuestionAnswers:
    """Takes answers from messages.

    Args:
        approvals: Has the pending questions.
        language: The language of the home.
    """

    def __init__(self, approvals: Approvals, language: Callable[[], str]) -> None:
        self._approvals = approvals
        self._language = language

    def interceptor(self) -> Interceptor:
        """Return the interceptor that takes the next message of the person asked as the answer."""
        return Interceptor(self._approvals.waiting, self._intercept)

    async def _intercept(self, accepted: Accept) -> Answer | None:
        """Return a function that takes a message as an answer; None if no question to its sender waits here."""
        message, authority = accepted.message, accepted.context.authority
        if message.images or message.media or message.contacts or message.location is not None:
            return None
        for each in self._approvals.questions():
            mine = each.session_key == accepted.session_key and may_answer_question(each, authority)
            if mine and SECRET not in each.details:  # a key is never taken out of a chat
                break
        else:
            return None
        code = each.code

        async def answer() -> str | None:
            try:
                return self._noted((await self._approvals.answer(code, message.text, accepted.context)).answer)
            except HubError:  # it ended meanwhile, or this is no answer: the agent hears it as any other message
                return None

        return answer

    def command(self) -> ChatCommand:
        """Return the command, which buttons use."""
        return ChatCommand("answer", self._answer, Category.TOOLS, arguments="[CODE ANSWER]")

    async def _answer(self, call: CommandCall) -> str:
        if not call.rest:
            return self._waiting(call)
        ended = await self._approvals.answer(call.word, call.rest, call.context)
        return self._noted(ended.answer)

    def _waiting(self, call: CommandCall) -> str:
        direct, person = call.message.address.chat_type is ChatType.DIRECT, call.context.authority.person
        found = [
            each
            for each in self._approvals.questions()
            if may_answer_question(each, call.context.authority)
            and (each.session_key == call.session_key or (direct and each.requested_by.person == person))
        ]
        if not found:
            return say("question.nothing", self._language())
        return "\n".join([say("question.waiting", self._language()), *(f"{each.code}: {each.title}" for each in found)])

    def _noted(self, answer: str | None) -> str:
        return say("question.noted", self._language(), answer=answer or "")
