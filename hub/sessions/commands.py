"""The commands about the conversation one is in: /new, /stop, /status, /context, /whoami, /export, …"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.compaction.asked import CompactionCall
from hub.agent.compaction.compact import NoSummary
from hub.agent.compaction.entry import compactions_in
from hub.agent.prompt.report import explain_prompt
from hub.agent.runner import AgentRunner
from hub.agent.taint.lift import lift_taint
from hub.agent.taint.taint import LiftScope
from hub.messaging.commands.model_names import model_of_part, model_refs
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, CommandReply, Commands
from hub.messaging.limit_texts import notice_text
from hub.messaging.texts import say
from hub.models.answering import answering_model
from hub.models.registry import ModelRegistry
from hub.models.vendors import OFFLINE
from hub.security.people import People
from hub.security.root import Root
from hub.sessions.export import FORMATS
from hub.sessions.fork import fork_session
from hub.sessions.session import SETTINGS, TEXT_LIMIT
from hub.sessions.store import SessionStore
from hub.tools.policy import belongs_here

EXPORTS = "exports"
"""The folder of the home directory that conversations are exported to; no agent reads there."""
COMPACTION_WAIT_S = 5.0
"""How long the answer to `/compact` waits for the summary: a channel may take no other message meanwhile."""


class SessionCommandNeeds(Struct, frozen=True):
    """The dependencies of the commands about conversations.

    Attributes:
        people: The people of this home, as configured now.
        home: The home directory.
        home_channel: Returns the channel that the hub's own conversations are held on.
    """

    sessions: SessionStore
    runner: AgentRunner
    models: ModelRegistry
    agents: Agents
    people: Callable[[], People]
    home: Path
    home_channel: Callable[[], str]


class SessionCommands:
    """Carries out the commands about a conversation.

    Args:
        language: The language of the home.
    """

    def __init__(self, needs: SessionCommandNeeds, language: Callable[[], str]) -> None:
        self._needs = needs
        self._language = language

    def commands(self) -> tuple[ChatCommand, ...]:
        """Return the commands."""
        session, status = Category.SESSION, Category.STATUS
        lift = tuple(scope.value for scope in LiftScope)
        formats = tuple(FORMATS)
        return (
            ChatCommand("new", self._new, session, aliases=("reset",), arguments="[MODEL] [MESSAGE]"),
            ChatCommand("compact", self._compact, session, people_only=True, arguments="[INSTRUCTIONS]"),
            ChatCommand("stop", self._stop, session, aliases=("abort",)),
            ChatCommand("trust", self._trust, session, owner_only=True, where=CommandPlace.DIRECT, choices=lift),
            ChatCommand("export", self._export, session, people_only=True, where=CommandPlace.DIRECT, choices=formats),
            ChatCommand("fork", self._fork, session, owner_only=True, where=CommandPlace.DIRECT, arguments="[TITLE]"),
            ChatCommand("status", self._status, status),
            ChatCommand("whoami", self._whoami, status, aliases=("id",)),
            ChatCommand("context", self._context, status, people_only=True, choices=("list", "detail")),
        )

    async def _new(self, call: CommandCall) -> str | CommandReply:
        needs, key = self._needs, call.session_key
        needs.runner.abort(session_key=key)
        if needs.sessions.get(key) is not None:
            await needs.sessions.reset(key)
        message, language = call.arguments, self._language()
        if call.by_owner and (model := await self._model_of(call.word)) is not None:
            await needs.sessions.ensure(key)
            await needs.sessions.patch(key, model=model)
            message = call.rest
        if message:
            return CommandReply("", message=message)
        if belongs_here(call.context.authority) and self._can_greet(call):
            return CommandReply("", message=say("new.greet", language), by_hub=True)
        return say("new.done", language)

    async def _model_of(self, word: str) -> str | None:
        """Return the model that the first word after `/new` names, by alias, reference, provider or part of a name."""
        models = self._needs.models
        if word in ("", "auto", "default"):
            return None
        if models.describe(word)["ref"]:
            return word
        return model_of_part(word, await model_refs(models))

    def _can_greet(self, call: CommandCall) -> bool:
        """Whether the answering model can greet; the offline one only lists its abilities."""
        needs, session = self._needs, self._needs.sessions.get(call.session_key)
        chosen = session.model if session is not None else None
        ref = needs.models.describe(chosen or needs.agents.get(call.agent_id).model)["ref"]
        return ref is not None and ref.partition("/")[0] != OFFLINE

    async def _compact(self, call: CommandCall) -> str:
        """Compact the conversation; it continues after the answer, and the next message waits for it."""
        needs, language, key = self._needs, self._language(), call.session_key
        if needs.sessions.get(key) is None:
            return say("compact.nothing", language)
        task = needs.runner.compact(CompactionCall(call.agent_id, key, call.context, call.arguments))
        await asyncio.wait({task}, timeout=COMPACTION_WAIT_S)
        if not task.done():
            return say("compact.begun", language)
        try:
            done = task.result()
        except NoSummary as error:
            return say("compact.failed", language, error=error.message)
        if done is None:
            return say("compact.nothing", language)
        return say("compact.done", language, count=done.messages, before=done.tokens_before, after=done.tokens_after)

    async def _stop(self, call: CommandCall) -> str:
        running = {run.run_id for run in self._needs.runner.active() if run.state == "running"}
        stopped = self._needs.runner.abort(session_key=call.session_key)
        if waiting := len(set(stopped) - running):
            return say("stop.cleared", self._language(), count=waiting)
        return say("stop.done" if stopped else "stop.nothing", self._language())

    async def _status(self, call: CommandCall) -> str:
        needs, language = self._needs, self._language()
        session = await needs.sessions.ensure(call.session_key)
        agent = needs.agents.get(call.agent_id)
        resolved = await needs.models.resolve(session.model or agent.model)
        runs = [run for run in needs.runner.active() if run.session_key == call.session_key]
        chosen = [f"{name} {value}" for name in SETTINGS[1:] if (value := getattr(session, name)) is not None]
        transcript = await needs.sessions.open_transcript(session)
        answers = await answering_model(needs.models, session.model or agent.model, agent.credentials)
        lines = say(
            "status.lines",
            language,
            agent=call.agent_id,
            session=call.session_key,
            model=resolved.name,
            tokens=session.usage.total_tokens,
            window=_share(session.context_tokens, agent.window(resolved.info)),
            compactions=compactions_in(transcript.branch()),
            runs=len(runs),
        )
        told = [notice_text(answers["notice"], language)] if "notice" in answers else []
        told += [say("status.settings", language, settings=", ".join(chosen))] if chosen else []
        return "\n".join([lines, *told])

    async def _whoami(self, call: CommandCall) -> str:
        authority = call.context.authority
        person = self._needs.people().by_id(authority.person) if authority.person else None
        if person is None:
            return say("whoami.unknown", self._language(), identity=call.message.sender)
        return say("whoami.known", self._language(), name=person.name, identity=call.message.sender)

    async def _trust(self, call: CommandCall) -> str:
        scope = LiftScope.SESSION if call.word == LiftScope.SESSION else LiftScope.TURN
        await lift_taint(self._needs.sessions, self._needs.runner, call.session_key, scope, call.context)
        return say(f"trust.{scope}", self._language())

    async def _context(self, call: CommandCall) -> str:
        """Report the size of each part of the prompt."""
        needs, language, key = self._needs, self._language(), call.session_key
        agent = needs.agents.get(call.agent_id)
        await asyncio.to_thread(needs.runner.parts.workspaces.ensure, agent.id)
        report = await explain_prompt(needs.runner.parts, agent, key, call.context.authority)
        prompt, tools, found = (report.total(kind) for kind in ("prompt", "tool", "found"))
        head = say(
            "context.lines",
            language,
            window=_share(report.context_tokens, report.window),
            mode=report.mode,
            bytes=prompt.bytes,
            prompt=prompt.tokens,
            count=tools.name,
            tool_bytes=tools.bytes,
            tools=tools.tokens,
            found=found.name,
            compactions=report.compactions,
        )
        shown = [each for each in report.parts if each.kind == "prompt" or call.word == "detail"]
        return "\n".join([head, *(f"- {each.name}: {each.raw_chars}, {each.bytes}, {each.tokens}" for each in shown)])

    async def _export(self, call: CommandCall) -> str:
        needs, language = self._needs, self._language()
        session = needs.sessions.get(call.session_key)
        if session is None:
            return say("export.empty", language)
        transcript = await needs.sessions.open_transcript(session)
        form = call.word or "md"
        text = await asyncio.to_thread(FORMATS[form], session, transcript.branch())
        name = f"{datetime.now(UTC):%Y-%m-%d}-{session.session_id[:8]}.{form}"
        await asyncio.to_thread(Root(needs.home).write_text, f"{EXPORTS}/{name}", text, parents=True)
        return say("export.done", language, path=f"{EXPORTS}/{name}")

    async def _fork(self, call: CommandCall) -> str:
        needs, language = self._needs, self._language()
        session = needs.sessions.get(call.session_key)
        if session is None:
            return say("export.empty", language)
        title = call.arguments or say("fork.title", language, title=session.title or session.key)
        kept = needs.runner.parts.kept_results
        fork = await fork_session(needs.sessions, session, needs.home_channel(), title[:TEXT_LIMIT], kept)
        return say("fork.done", language, title=fork.title, session=fork.key)


def add_session_commands(commands: Commands, needs: SessionCommandNeeds) -> None:
    """Add the commands about the conversation one is in."""
    commands.add(*SessionCommands(needs, commands.language).commands())


def _share(used: int, window: int) -> str:
    return f"{used} / {window} ({100 * used // max(window, 1)} %)"
