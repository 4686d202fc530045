"""Threads of subagents: what people write in one goes to the subagent while it works; /unfocus ends that."""

from __future__ import annotations

from collections.abc import Callable

from hub.agent.subagents.record import Subagent
from hub.agent.subagents.subagents import Subagents
from hub.automation.services.subagent_answers import SubagentAnswers
from hub.core.context import Authority
from hub.core.errors import HubError
from hub.messaging.access.decide import Accept
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall
from hub.messaging.contract import Address
from hub.messaging.inbox.interceptor import Answer, Interceptor
from hub.messaging.texts import say


class SubagentThreads:
    """Passes messages in threads to running subagents, from the people they work for and from owners.

    Args:
        subagents: The subagents.
        places: Finds their threads.
        language: The language of the home.
    """

    def __init__(self, subagents: Subagents, places: SubagentAnswers, language: Callable[[], str]) -> None:
        self._subagents = subagents
        self._places = places
        self._language = language
        self._left: set[str] = set()

    def command(self) -> ChatCommand:
        """Return the command /unfocus."""
        return ChatCommand("unfocus", self._unfocus, Category.SESSION, people_only=True)

    def interceptor(self) -> Interceptor:
        """Return the interceptor that passes messages to running subagents."""
        return Interceptor(self._subagents.at_work, self._intercept)

    async def _intercept(self, accepted: Accept) -> Answer | None:
        """Return a function that passes a message to a subagent; None if an agent answers it."""
        found = self._in(accepted.message.address, accepted.context.authority)
        if found is None or not accepted.message.text.strip():
            return None
        subagent = found

        async def pass_on() -> str | None:
            try:
                self._subagents.steer(subagent, accepted.message.text, accepted.context.authority)
            except HubError:  # it has ended, or hears no more: the agent answers
                return None
            return say("subagents.steered", self._language(), label=subagent.label)

        return pass_on

    async def _unfocus(self, call: CommandCall) -> str:
        found = self._in(call.message.address, call.context.authority)
        if found is None:
            return say("subagents.no_thread", self._language())
        running = {each.id for each in self._subagents.running()}
        self._left = (self._left & running) | {found.id}
        return say("subagents.unfocused", self._language(), label=found.label)

    def _in(self, address: Address, authority: Authority) -> Subagent | None:
        """Return the running subagent that owns a thread and may hear a sender there."""
        for each in self._subagents.running():
            known = self._places.opened_thread(each.place)
            if each.id in self._left or known is None or _chat(known) != _chat(address):
                continue
            if authority.owner or each.authority.person == authority.person is not None:
                return each
        return None


def _chat(address: Address) -> tuple[str, str, str, str | None]:
    return address.channel, address.account, address.peer, address.thread
