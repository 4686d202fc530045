"""Threads of subagents and of other sessions: what people write in one comes to it; /focus and /unfocus change that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hub.agent.subagents.record import find_subagents
from hub.agent.subagents.subagents import Subagents
from hub.core.errors import HubError, InvalidRequest
from hub.messaging.access.decide import Accept
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandReply
from hub.messaging.contract import ChatType
from hub.messaging.inbox.interceptor import Answer, Interceptor
from hub.messaging.texts import say
from hub.sessions.keys import SessionKey, SessionKind, is_incognito
from hub.sessions.privacy import is_personal
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

LISTED = 20
_Named = tuple[str, Session]


class SubagentThreads:
    """Passes messages in threads to subagents at work, and binds threads to sessions.

    Args:
        subagents: The subagents.
        threads: The bound threads.
        sessions: What they may be bound to.
        language: The language of the home.
    """

    def __init__(
        self, subagents: Subagents, threads: ThreadBindings, sessions: SessionStore, language: Callable[[], str]
    ) -> None:
        self._subagents = subagents
        self._threads = threads
        self._sessions = sessions
        self._language = language

    def commands(self) -> tuple[ChatCommand, ...]:
        """Return the commands /focus and /unfocus."""
        focus = ChatCommand("focus", self._focus, Category.SESSION, people_only=True, arguments="[NAME|KEY]")
        return focus, ChatCommand("unfocus", self._unfocus, Category.SESSION, people_only=True)

    def interceptor(self) -> Interceptor:
        """Return the interceptor that passes messages to subagents at work."""
        return Interceptor(self._subagents.at_work, self._intercept)

    async def _intercept(self, accepted: Accept) -> Answer | None:
        """Return a function that passes a message to a subagent; None if an agent answers it."""
        message, authority = accepted.message, accepted.context.authority
        subagent = self._subagents.at(accepted.session_key)
        if subagent is None or not message.text.strip():
            return None
        if self._threads.session_for(message.address, authority) != accepted.session_key:
            return None
        working = subagent

        async def pass_on() -> str | None:
            try:
                self._subagents.steer(working, message.text, authority)
            except HubError:  # it has ended, or hears no more: this is a message of its conversation
                return None
            return say("subagents.steered", self._language(), label=working.label)

        return pass_on

    async def _focus(self, call: CommandCall) -> str | CommandReply:
        address, authority = call.message.address, call.context.authority
        if address.thread is None and address.parent is None:
            return self._say("nowhere")
        bound = self._threads.at(address)
        if not call.arguments:
            now = self._say("now", label=bound.thread.label) if bound is not None else self._say("free")
            return CommandReply(f"{now}\n{self._say('what')}", _menu(self._seen(call)))
        if bound is not None and not (bound.hears(authority) or call.by_owner):
            return self._say("taken")
        found = self._named(call)
        if len(found) != 1:
            return CommandReply(self._say("several" if found else "unknown", name=call.arguments[:100]), _menu(found))
        [(label, session)] = found
        await self._threads.bind(address, session.key, label, authority.person)
        lines = [self._say("done", label=label)]
        if hours := self._threads.limits.idle_hours:
            lines.append(self._say("until", hours=f"{hours:g}"))
        if address.chat_type is not ChatType.DIRECT and is_personal(session.key):
            lines.append(self._say("read_along"))
        return " ".join(lines)

    async def _unfocus(self, call: CommandCall) -> str:
        bound = self._threads.at(call.message.address)
        if bound is None or not (bound.hears(call.context.authority) or call.by_owner):
            return self._say("none")
        await self._threads.unbind(call.message.address)
        return self._say("left", label=bound.thread.label)

    def _named(self, call: CommandCall) -> list[_Named]:
        """Return the sessions that a command names by name or key, of those that its sender may see."""
        name = call.arguments
        keys = {each.session_key for each in find_subagents(self._subagents.all(), name)}
        with suppress(InvalidRequest):
            keys.add(str(SessionKey.parse(name, default_agent=call.agent_id)))
        return [each for each in self._seen(call) if each[1].key in keys or name.casefold() == each[0].casefold()]

    def _seen(self, call: CommandCall) -> list[_Named]:
        """Return the sessions that a thread may be bound to by the sender, each after its name; subagents first."""
        labels = {each.session_key: each.label for each in reversed(self._subagents.all())}
        seen = [each for each in self._sessions.list() if _may_see(each, call)]
        named = [(labels.get(each.key) or each.name or each.key, each) for each in seen]
        return sorted(named, key=lambda each: each[1].key not in labels)

    def _say(self, key: str, **values: object) -> str:
        return say(f"focus.{key}", self._language(), **values)


def _menu(found: list[_Named]) -> tuple[tuple[str, str], ...]:
    return tuple((label, f"/focus {session.key}") for label, session in found[:LISTED])


def _may_see(session: Session, call: CommandCall) -> bool:
    """Whether the sender of a command may bind a thread to a session: their own, an owner all but private ones."""
    if is_incognito(session.key):
        return False
    if session.person == call.context.authority.person is not None:
        return True
    return call.by_owner and SessionKey.parse(session.key).kind is not SessionKind.DIRECT
