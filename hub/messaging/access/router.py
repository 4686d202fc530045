"""Decides about messages with the present configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.core.context import Context, ToolPolicy
from hub.messaging.access.access import AccessPolicy, GroupSettings, authorize
from hub.messaging.access.decide import (
    Accept,
    Decision,
    Facts,
    MessagingSettings,
    accept_verbatim,
    activation_of,
    agents_for,
    bound_route,
    decide,
)
from hub.messaging.access.routing import AgentRoute, MatchedBy, session_key_for
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.contract import Address, ChatType, Inbound, InboundMessage
from hub.messaging.queue.queue_policy import QueuePolicy
from hub.models.registry import ModelRegistry
from hub.security.people import People
from hub.sessions.keys import SessionKind
from hub.sessions.privacy import MEMORY_TOOLS, is_personal
from hub.sessions.session import Session

_OF_SUBAGENTS = f":{SessionKind.SUBAGENT}:"


class Router:
    """Gathers the facts for each decision.

    Args:
        people: The people of this home as configured now.
        settings: The settings; replaced when the configuration changes.
        models: Know whether a model that a message names exists.
        paired: Returns the identities that are paired with the account of an address.
        session: Returns a session by its key; what was chosen for it comes before what is configured.
        buttons: Resolve a pressed button to its command.
    """

    def __init__(
        self,
        channels: ChannelRegistry,
        agents: Agents,
        people: Callable[[], People],
        settings: MessagingSettings,
        *,
        models: ModelRegistry,
        buttons: CommandButtons,
        paired: Callable[[Address], frozenset[str]] = lambda address: frozenset(),
        session: Callable[[str], Session | None] = lambda key: None,
    ) -> None:
        self._channels = channels
        self._agents = agents
        self._people = people
        self.settings = settings
        self._models = models
        self._paired = paired
        self._session = session
        self._buttons = buttons
        self._threads: ThreadBindings | None = None
        self._policies_of: Callable[[str], tuple[ToolPolicy, ...]] = lambda key: ()

    def look_for_bound_threads_in(self, threads: ThreadBindings) -> None:
        """Set what returns the session that a sender's words in a thread come to, if the thread is bound to one."""
        self._threads = threads

    def narrow_with(self, policies_of: Callable[[str], tuple[ToolPolicy, ...]]) -> None:
        """Set what returns the policies that narrow the tools in a subagent's session."""
        self._policies_of = policies_of

    def decide(self, inbound: Inbound, context: Context) -> Decision:
        """Return the decision about a message or event; see `hub.messaging.access.decide`."""
        return decide(inbound, context, self._facts(inbound.address))

    def admits(self, inbound: Inbound, context: Context) -> bool:
        """Whether the sender of a message or event may talk there."""
        facts = self._facts(inbound.address)
        verdict = authorize(inbound, context.authority, facts.policy, facts.people, facts.paired)
        return verdict.authority is not None

    def accept_verbatim(self, message: InboundMessage, context: Context, session_key: str | None) -> Accept:
        """Return the acceptance of a message as it is; see `hub.messaging.access.decide`."""
        return accept_verbatim(message, context, self._facts(message.address), session_key)

    def with_present_rights(self, context: Context, address: Address, session_key: str) -> Context:
        """Return the context of a queued message, with its sender's present rights in its session.

        Others may read along in a room: from there, even a personal session does not see anybody's memory.
        """
        authority = self._people().with_rights_at_arrival(context.authority)
        if _OF_SUBAGENTS in session_key:
            for policy in self._policies_of(session_key):
                authority = authority.narrow(policy=policy)
        if address.chat_type is not ChatType.DIRECT and is_personal(session_key):
            authority = authority.narrow(policy=ToolPolicy(deny=frozenset({MEMORY_TOOLS}), source="thread"))
        return Context(authority, context.id, context.parent_id, context.chain)

    def group_settings(self, address: Address) -> GroupSettings | None:
        """Return the settings of an address's room; None for a direct conversation."""
        return self._policy(address).group_settings(address)

    def may_reply(self, address: Address, session_key: str) -> bool:
        """Whether replies of a session are sent to its chat: the session's choice, else `session.send_policy`.

        Those on the home channel always are: there the conversation itself is shown.
        """
        if self._channels.is_home(address.channel):
            return True
        session = self._session(session_key)
        chosen = session.send if session is not None else None
        if chosen is None and not self.settings.send_policy.rules:
            return self.settings.send_policy.default
        return self.settings.send_policy.decide(address, session_key, chosen)[0]

    def queue_policy(self, address: Address, session_key: str) -> QueuePolicy:
        """Return how messages of a chat wait for a session: the session's choice, else `messages.queue`."""
        session = self._session(session_key)
        return self.settings.queue.of(address.channel, session.queue if session is not None else None)

    def explain(self, message: InboundMessage, context: Context) -> dict[str, Any]:
        """Return the decision about a message and its rules, as plain data; changes nothing."""
        if (attached := self._channels.get(message.address.channel, message.address.account)) is not None:
            known = replace(message.address, account_id=attached.status.account_id)
            message = replace(message, address=known)
        address, facts = message.address, self._facts(message.address)
        verdict = authorize(message, context.authority, facts.policy, facts.people, facts.paired)
        found, also = agents_for(message, facts, verdict.group)
        # Where nobody is let in, the session is that of a stranger.
        authority = verdict.authority or facts.people.authority_for(message.sender).narrow(scopes=(), owner=False)
        keys = [session_key_for(each, message, authority, facts.settings.dm_scope) for each in (found.agent, *also)]
        if (bound := bound_route(message, authority, facts)) is not None:
            found, also, keys = AgentRoute(bound[0], MatchedBy.THREAD), (), [bound[1]]
        session = self._session(keys[0])
        sends, send_rule = facts.settings.send_policy.decide(address, keys[0], session.send if session else None)
        return {
            "access": {
                "allowed": verdict.authority is not None,
                "reason": verdict.reason,
                "offersPairing": verdict.may_pair,
                "person": authority.person,
                "owner": authority.owner,
                "activation": activation_of(verdict.group, keys[0], facts).value if verdict.group else None,
            },
            "route": {
                "agentId": found.agent,
                "matchedBy": found.matched_by.name.lower(),
                "binding": found.index,
                "sessionKey": keys[0],
                "alsoAgents": list(also),
                "alsoSessions": keys[1:],
            },
            "send": {"allowed": sends, "rule": send_rule},
            "channel": {"name": address.channel, "account": address.account, "loggedIn": self._is_known(address)},
        }

    def _facts(self, address: Address) -> Facts:
        people, paired = self._people(), self._paired(address)
        policy, settings = self._policy(address), self.settings
        pressed = self._buttons.command
        knows, activation = self._knows_model, self._activation
        threads = self._threads
        bound = threads.session_for if threads is not None and threads.keys != {} else None
        return Facts(policy, people, self._agents, settings, knows, paired, activation, pressed, bound)

    def _policy(self, address: Address) -> AccessPolicy:
        attached = self._channels.get(address.channel, address.account)
        return attached.access if attached else AccessPolicy()

    def _is_known(self, address: Address) -> bool:
        return self._channels.get(address.channel, address.account) is not None

    def _activation(self, session_key: str) -> str | None:
        session = self._session(session_key)
        return session.activation if session is not None else None

    def _knows_model(self, ref: str) -> bool:
        return self._models.describe(ref)["ref"] is not None
