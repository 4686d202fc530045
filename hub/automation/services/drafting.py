"""Drafts an automation from one sentence with a model; it is checked as a file would be, and never saved here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agent, Agents
from hub.agent.small_call import SmallCall, read_object, retry_messages
from hub.automation.contract import DRAFT_ASKED
from hub.automation.definition.grammar import automation as grammar
from hub.automation.definition.kinds import Kinds
from hub.config.render import block
from hub.config.suggest import did_you_mean
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, TimedOut
from hub.core.ids import new_id
from hub.core.schema import SchemaError, describe_error
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.models.contract import Message, Usage, user_message
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.vendors import OFFLINE
from hub.storage.history import HistoryStore

SENTENCE_LIMIT = 1_000
TIMEOUT_S = 90.0
ATTEMPTS = 2
"""The first draft, and one more when it was not valid."""
ENTITIES_LIMIT = 300
SERVICES_LIMIT = 200
KEPT = ("alias", "description", "triggers", "conditions", "actions", "mode")
"""The keys that a draft may have; a person adds the others."""

_FORM = """Reply with one JSON object and nothing else: no prose, no code fence. Its keys:
"alias": a short name, in the language of the sentence;
"triggers": what starts it, a list of objects {{"trigger": KIND, …}};
"conditions": a list, perhaps empty, of objects {{"condition": KIND, …}};
"actions": what it does, a list of
{{"action": "domain.service", "target": {{"entity_id": …}}, "data": {{…}}}}, or of steps such as
{{"delay": "00:05:00"}} and {{"if": [conditions], "then": [actions], "else": [actions]}}.

Kinds of triggers with their keys:
{triggers}
Kinds of conditions with their keys:
{conditions}
Times of day are "07:30", weekdays "mon" to "sun", durations "00:05:00", a date with a time "2026-05-12 18:00" (once).
To tell people something use notify.notify with data {{"message": …}}. What has to be found out or written
first is a question to the assistant: agent.run with data {{"message": the question, "announce": "last"}}; it knows the
weather, the web and memory.
Use only entities and services of this home. It is {now} there.

Services:
{services}
Entities:
{entities}"""


class NoDraft(HubError):
    """No model made a valid automation from the sentence; the message says why."""

    code = "NO_DRAFT"
    http_status = 422


class Drafted(Struct, frozen=True):
    """A draft: valid, and not saved.

    Attributes:
        automation: As data.
        text: The same as YAML.
        model: Who made it.
        without_model: Whether it was read by the sentences that are known without a language model.
    """

    automation: Mapping[str, Any]
    text: str
    model: str
    without_model: bool

    def as_dict(self) -> dict[str, Any]:
        """The draft in the gateway's shape."""
        return {
            "automation": self.automation,
            "yaml": self.text,
            "model": self.model,
            "without_model": self.without_model,
        }


class Drafter:
    """Drafts automations.

    Args:
        models: The model registry.
        agents: The default agent's model writes the draft.
        kinds: The kinds of triggers, conditions and actions that there are.
        history: Where usage is kept; None where none is.
        now: Returns local time in words.
    """

    def __init__(
        self,
        models: ModelRegistry,
        agents: Agents,
        states: StateMachine,
        services: ServiceRegistry,
        kinds: Kinds,
        history: HistoryStore | None,
        *,
        clock: Clock,
        now: Callable[[], str],
    ) -> None:
        self._models = models
        self._agents = agents
        self._states = states
        self._services = services
        self._kinds = kinds
        self._history = history
        self._clock = clock
        self._now = now

    async def draft(self, sentence: str) -> Drafted:
        """Return an automation for a sentence.

        Raises:
            InvalidRequest: The sentence is empty or too long.
            NoDraft: No model made a valid automation of it, not even when its errors were shown to it.
            TimedOut: None answered in time.
            HubError: No model could be asked.

        Cancelling it ends the call of the model.
        """
        said = sentence.strip()
        if not said or len(said) > SENTENCE_LIMIT:
            raise InvalidRequest(f"text: say in 1 to {SENTENCE_LIMIT} characters what is to happen, and when")
        agent = self._agents.default()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._drafted(said, agent, await self._candidates(agent))
        except TimeoutError as error:
            raise TimedOut(f"no model answered within {TIMEOUT_S:g} s") from error

    async def _candidates(self, agent: Agent) -> list[Resolved]:
        """Return the models that may be asked; in the end the sentences that are known without a model."""
        try:
            found = [each for each in await self._models.candidates(agent.model) if not each.info.program]
        except HubError:
            found = []
        return found if any(_is_offline(each) for each in found) else [*found, await self._models.resolve(OFFLINE)]

    async def _drafted(self, said: str, agent: Agent, candidates: list[Resolved]) -> Drafted:
        with self._kinds.in_use():
            system = self._prompt()
        messages: list[Message] = [user_message(said)]
        problem = ""
        for _ in range(ATTEMPTS):
            call = SmallCall(agent, system, tuple(messages), TIMEOUT_S)
            try:
                reply = await call.run(self._models, candidates)
            finally:
                self._note(agent, call)
            offline = call.model.startswith(f"{OFFLINE}/")
            try:
                found = {
                    key: each for key, each in read_object(reply).items() if key in KEPT and each not in (None, [])
                }
                with self._kinds.in_use():
                    self._check(found)
                return Drafted(found, "\n".join(block(found, 0)) + "\n", call.model, offline)
            except (ValueError, SchemaError) as error:
                problem = describe_error(error) if isinstance(error, SchemaError) else str(error)
            if offline:
                raise NoDraft(reply)
            messages += retry_messages(reply, problem, "with the keys alias, triggers, conditions and actions")
        raise NoDraft(f"{call.model} did not write a valid automation: {problem}")

    def _prompt(self) -> str:
        services = sorted(each.id for each in self._services.all())[:SERVICES_LIMIT]
        entities = [f"- {each.entity_id}: {each.name} = {each.state}" for each in self._states.all()[:ENTITIES_LIMIT]]
        form = _FORM.format(
            triggers="\n".join(self._kinds_of("trigger")),
            conditions="\n".join(self._kinds_of("condition")),
            now=self._now(),
            services=", ".join(services),
            entities="\n".join(entities) or "(none)",
        )
        return f"{DRAFT_ASKED}\n{form}"

    def _kinds_of(self, what: str) -> Iterator[str]:
        for name in self._kinds.names(what):
            keys = ", ".join(str(key) for key in self._kinds.of(what, name).fields)
            yield f"- {name}: {keys}"

    def _check(self, draft: Mapping[str, Any]) -> None:
        """Refuse an invalid automation, or one with unknown names.

        Raises:
            SchemaError: It is not a valid automation.
            ValueError: It has no trigger, or names a service or an entity that there is not.
        """
        grammar(dict(draft))
        if not draft.get("triggers"):
            raise ValueError("triggers: expected at least one trigger")
        services = {each.id for each in self._services.all()}
        entities = {each.entity_id for each in self._states.all()}
        for name in _named(draft, ("action", "service")):
            if name not in services:
                raise ValueError(f"there is no service {name}{_near(name, services)}")
        for name in _named(draft, ("entity_id",)):
            if name not in entities:
                raise ValueError(f"there is no entity {name}{_near(name, entities)}")

    def _note(self, agent: Agent, call: SmallCall) -> None:
        usage: Usage | None = call.usage
        if usage is not None and self._history is not None:
            self._history.record_usage(agent.id, None, new_id(), call.model, usage, self._clock.time())


def _is_offline(candidate: Resolved) -> bool:
    return candidate.ref.startswith(f"{OFFLINE}/")


def _near(name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known)
    return f"; {hint}" if hint else ""


def _named(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield each text after one of these keys, alone or in a list; templates are left out."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each, keys)
    if not isinstance(value, Mapping):
        return
    for key, each in value.items():
        names = each if isinstance(each, list) else [each]
        if key in keys:
            yield from (name for name in names if isinstance(name, str) and "." in name and "{" not in name)
        yield from _named(each, keys)
