"""The commands that choose how a conversation is answered: /think, /model, /usage, /queue, /send, …"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.errors import NotFound
from hub.messaging.commands.directives import SETTINGS, Setting
from hub.messaging.commands.model_names import model_refs, near_models
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, CommandReply, Commands
from hub.messaging.limit_texts import notice_text
from hub.messaging.queue.queue_policy import QueueMode, parse_queue_directive
from hub.messaging.texts import say
from hub.models.answering import answering_model
from hub.models.choosing import choose_model
from hub.models.registry import ModelRegistry
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

MODELS_SHOWN = 50
MENU_LIMIT = 10
COST_DAYS = 30
DEFAULT = "default"

Costs = Callable[[int], Awaitable[list[dict[str, Any]]]]
"""Returns the use of so many days: mappings with `day`, `model`, `calls` and `cost_usd`."""


async def _no_costs(days: int) -> list[dict[str, Any]]:
    """Default callable: nothing is recorded."""
    return []


class SettingCommandNeeds(Struct, frozen=True):
    """The dependencies of the commands about settings."""

    sessions: SessionStore
    models: ModelRegistry
    agents: Agents
    costs: Costs = _no_costs


class SettingCommands:
    """Carries out the commands about settings.

    Args:
        language: The language of the home.
    """

    def __init__(self, needs: SettingCommandNeeds, language: Callable[[], str]) -> None:
        self._needs = needs
        self._language = language

    def commands(self) -> tuple[ChatCommand, ...]:
        """Return the commands."""
        special = {"model": self._model, "queue": self._queue, "usage": self._usage}
        return (
            *(self._command(setting, special.get(setting.name)) for setting in SETTINGS.values()),
            ChatCommand("models", self._models, Category.STATUS, people_only=True, arguments="[PROVIDER]"),
        )

    def _command(
        self, setting: Setting, run: Callable[[CommandCall], Awaitable[str | CommandReply]] | None
    ) -> ChatCommand:
        async def set_(call: CommandCall) -> str | CommandReply:
            if not call.arguments:
                return self._shown(setting, call)
            return await self._keep(setting, call, setting.stored_value(call.word))

        shown = {kept: value for value, kept in setting.values.items() if kept in (value, None)}
        return ChatCommand(
            setting.name,
            run or set_,
            Category.OPTIONS,
            owner_only=setting.owner_only,
            in_rooms=not setting.inline,
            people_only=not setting.owner_only,
            where=CommandPlace.GROUP if setting.name == "activation" else CommandPlace.ANYWHERE,
            aliases=setting.aliases,
            arguments={"model": "[MODEL]", "queue": "[MODE] [debounce:2s] [cap:25] [drop:old]"}.get(setting.name, ""),
            choices=(*shown.values(), *(["cost"] if setting.name == "usage" else [])),
            accepted=tuple(setting.values),
        )

    def _shown(self, setting: Setting, call: CommandCall) -> CommandReply:
        """Return the present choice, and the alternatives."""
        session = self._needs.sessions.get(call.session_key)
        command = self._command(setting, None)
        chosen = self._named(getattr(session, setting.field, None))
        text = say("setting.shown", self._language(), name=f"/{setting.name}", value=chosen, usage=command.usage)
        return CommandReply(text, command.menu())

    async def _keep(self, setting: Setting, call: CommandCall, value: Any) -> str:
        await self._needs.sessions.ensure(call.session_key)
        await self._needs.sessions.patch(call.session_key, **{setting.field: value})
        return say("setting.kept", self._language(), name=f"/{setting.name}", value=self._named(value))

    def _named(self, value: Any) -> str:
        return say("setting.configured", self._language()) if value is None else str(value)

    async def _usage(self, call: CommandCall) -> str | CommandReply:
        setting, language = SETTINGS["usage"], self._language()
        if call.word == "cost":
            days = await self._needs.costs(COST_DAYS)
            today = max((each["day"] for each in days), default="")
            spent = [
                sum(each["cost_usd"] or 0 for each in some) for some in ([d for d in days if d["day"] == today], days)
            ]
            session = self._needs.sessions.get(call.session_key)
            here = (session.usage.cost_usd if session is not None else None) or 0.0
            return say(
                "usage.cost",
                language,
                here=_dollars(here),
                day=_dollars(spent[0]),
                days=COST_DAYS,
                month=_dollars(spent[1]),
            )
        if not call.arguments:
            session = self._needs.sessions.get(call.session_key) or Session("", "", "", 0, 0)
            use = session.usage
            shown = self._shown(setting, call)
            lines = say("usage.lines", language, input=use.input_tokens, output=use.output_tokens, turns=session.turns)
            return CommandReply(f"{lines}\n{shown.text}", shown.menu)
        return await self._keep(setting, call, setting.stored_value(call.word))

    async def _queue(self, call: CommandCall) -> str | CommandReply:
        setting = SETTINGS["queue"]
        if not call.arguments:
            shown = self._shown(setting, call)
            return CommandReply(shown.text, tuple((mode, f"/queue {mode}") for mode in (*QueueMode, DEFAULT)))
        stated = parse_queue_directive(call.arguments)
        return await self._keep(setting, call, " ".join(call.arguments.split()) if stated else None)

    async def _model(self, call: CommandCall) -> str | CommandReply:
        needs, language, wanted = self._needs, self._language(), call.arguments
        agent = needs.agents.get(call.agent_id)
        if not wanted:
            session = needs.sessions.get(call.session_key)
            ref = (session and session.model) or agent.model
            lines = [say("model.current", language, model=(await needs.models.resolve(ref)).name)]
            if notice := (await answering_model(needs.models, ref, agent.credentials)).get("notice"):
                lines.append(notice_text(notice, language))
            return CommandReply("\n".join(lines), _menu(await self._refs()))
        if wanted in (DEFAULT, "auto"):
            await needs.sessions.ensure(call.session_key)
            await needs.sessions.patch(call.session_key, model=None)
            configured = await needs.models.resolve(agent.model)
            return say("model.set", language, model=configured.ref)
        try:
            resolved = await choose_model(needs.models, wanted)
        except NotFound as error:
            if "listed" in error.details:
                raise
            name, at, credential = wanted.partition("@")
            near = [f"{ref}{at}{credential}" for ref in near_models(name, await self._refs())]
            if not near:
                raise
            if len(near) > 1:
                return CommandReply(say("model.which", language, name=wanted), _menu(near))
            wanted = near[0]
            resolved = await needs.models.resolve(wanted)
        await needs.sessions.ensure(call.session_key)
        await needs.sessions.patch(call.session_key, model=wanted)
        lines = [say("model.set", language, model=resolved.name)]
        if notice := (await answering_model(needs.models, wanted, agent.credentials)).get("notice"):
            lines.append(notice_text(notice, language))
        return "\n".join(lines)

    async def _models(self, call: CommandCall) -> str | CommandReply:
        refs = [ref for ref in await self._refs() if not call.word or ref.lower().startswith(call.word)]
        if not refs:
            return say("models.none", self._language(), provider=call.arguments or "-")
        shown = [f"- {ref}" for ref in refs[:MODELS_SHOWN]]
        return "\n".join([say("models.title", self._language(), count=len(refs)), *shown])

    async def _refs(self) -> list[str]:
        return await model_refs(self._needs.models)


def add_setting_commands(commands: Commands, needs: SettingCommandNeeds) -> None:
    """Add the commands that choose how a conversation is answered."""
    commands.add(*SettingCommands(needs, commands.language).commands())


def _menu(refs: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple((ref, f"/model {ref}") for ref in refs[:MENU_LIMIT])


def _dollars(amount: float) -> str:
    return f"${amount:.4f}" if 0 < amount < 1 else f"${amount:.2f}"
