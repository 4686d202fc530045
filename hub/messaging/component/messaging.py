"""The way of a message: commands, router, queue, inbox and outbox."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from hub.agent.component.agents import AgentsComponent
from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_messages import AgentMessages
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.access.pairing import Pairings
from hub.messaging.access.router import Router
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.account_names import AccountNames
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.command_publisher import CommandPublisher
from hub.messaging.commands.registry import Commands
from hub.messaging.component.chat_commands import CommandEngines, chat_commands
from hub.messaging.component.spoken_commands import SpokenCommands
from hub.messaging.cursors import Cursors
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.inbox.media_store import MediaStore
from hub.messaging.inbox.question_answers import QuestionAnswers
from hub.messaging.inbox.sentence_matcher import Sentences
from hub.messaging.notices.approval_messages import ApprovalMessages
from hub.messaging.notices.owner_place import OwnerPlaces
from hub.messaging.notices.unsure_answers import UnsureAnswers
from hub.messaging.outbox.outbound_policy import OutboxSettings
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.queue.queue import MessageQueue
from hub.messaging.retention import prune_daily
from hub.models.registry import ModelRegistry
from hub.models.transcription import Transcribe
from hub.security.hub_token import hub_token
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.database import Database

_log = logging.getLogger(__name__)

DRAIN_LIMIT_S = 2.5
CANCEL_LIMIT_S = 1.0


class MessagingComponent(Component):
    """Takes messages in, has them answered, and sends answers out."""

    name = "messaging"
    sections = frozenset({"messages", "bindings", "broadcast"})
    follows = frozenset({"hub", "session", "agents"})

    def __init__(
        self,
        base: Foundation,
        *,
        channels: ChannelRegistry,
        db: Database,
        people: Callable[[], People],
        sessions: SessionStore,
        models: ModelRegistry,
        agents: AgentsComponent,
        engines: CommandEngines,
    ) -> None:
        self._base = base
        self._db = db
        self._runs = agents.tasks
        self._agents, self._workspaces = agents.agents, agents.workspaces
        self.threads = ThreadBindings(sessions, base.clock)
        self.commands = chat_commands(
            base,
            engines,
            agents=agents,
            sessions=sessions,
            models=models,
            channels=channels,
            people=people,
            threads=self.threads,
        )
        self.outbox = Outbox(
            db,
            channels,
            base.bus,
            base.clock,
            base.tasks,
            repairs=base.repairs,
            settings=self._sending_configured(),
            hooks=agents.runner.parts.hooks,
        )
        AccountNames(db, self.outbox, base.bus, base.tasks)
        self._people = people
        self.addresses = Addresses(db, people, channels)
        self.agent_messages = AgentMessages(db, self.outbox, self.addresses, agents.workspaces)
        buttons = self.buttons = CommandButtons(hub_token(base.home.path), channels)
        self.owner_places = OwnerPlaces(db, people, channels)
        unsure = UnsureAnswers(
            db, self.outbox, base.bus, base.clock, base.tasks, language=base.language, buttons=buttons
        )
        self.commands.add(unsure.command())
        self.pairings = Pairings(
            db,
            self.outbox,
            places=self.owner_places,
            bus=base.bus,
            clock=base.clock,
            tasks=base.tasks,
            language=base.language,
        )

        def access_commands(commands: Commands) -> None:
            from hub.messaging.commands.allowlist_commands import add_allowlist_command
            from hub.messaging.commands.pairing_commands import add_pairing_command

            add_pairing_command(commands, self.pairings)
            add_allowlist_command(commands, base.config, channels, self.pairings, engines.reload)

        self.commands.add_group("access", access_commands)
        self.router = Router(
            channels,
            agents.agents,
            people,
            self._configured(),
            models=models,
            buttons=buttons,
            paired=self.pairings.identities_of,
            session=sessions.get,
        )
        self.router.look_for_bound_threads_in(self.threads)
        self.threads.limits = self.router.settings.thread_limits
        self._publisher = CommandPublisher(self.commands, channels, base.bus, base.tasks)
        self._models = models
        self.media = MediaStore(
            channels, agents.workspaces, base.clock, lambda: self.router.settings.media, self.transcriber
        )
        queue = self._queue = MessageQueue(
            db, self.router, agents.runner, self.outbox, self.media, clock=base.clock, tasks=agents.tasks
        )
        self.inbox = Inbox(
            db, self.router, queue, self.commands, self.outbox, buttons=buttons, bus=base.bus, clock=base.clock
        )
        self.inbox.handle_strangers_with(self.pairings.offer)
        answers = QuestionAnswers(engines.approvals, base.language)
        self.inbox.add_interceptor(answers.interceptor())
        self.commands.add(answers.command())
        self.sentences = Sentences(base.tasks)
        self.spoken = SpokenCommands(self.sentences, base.bus, base.language)
        approvals = ApprovalMessages(
            engines.approvals,
            self.owner_places,
            self.outbox,
            self.router,
            base.bus,
            base.clock,
            buttons=buttons,
            place=self.agent_messages.address,
        )
        self.inbox.tell_queued_with(approvals.notify_queued, engines.approvals.waiting)
        channels.connect(self.inbox.receive, Cursors(db), self.router.admits)

    def methods(self) -> MethodGroups:
        """Return the methods about sending and about commands."""
        return {"messages": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.messaging.methods.commands import CommandMethods
        from hub.messaging.methods.outbox import OutboxMethods

        outbox = OutboxMethods(self.outbox, self.addresses, self._agents, self._workspaces)
        return [*outbox.methods(), *CommandMethods(self.commands).methods()]

    @property
    def due(self) -> float | None:
        """When a message is tried next."""
        return self.outbox.due

    def stages(self) -> Sequence[Stage]:
        """Return the stage that resumes what the last stop left unanswered."""
        return [Stage("runs", self._start, self._stop, stop_limit_s=6.0)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over the settings of messages."""
        self.router.settings = self._configured()
        self.threads.limits = self.router.settings.thread_limits
        self.outbox.configure(self._sending_configured())

    def _configured(self) -> MessagingSettings:
        return MessagingSettings.from_config(self._base.section, self._base.language())

    def transcriber(self, sender: str = "") -> Transcribe | None:
        """Return the transcriber of recordings, which knows the sender's language; None if it is not configured."""
        ref = self.router.settings.transcription_model or self._models.speech_ref
        if ref is None:
            return None
        from hub.models.transcriber import transcriber  # at rest nobody speaks

        person = self._people().by_identity(sender)
        return transcriber(self._models, ref, person.language if person is not None else None)

    def _sending_configured(self) -> OutboxSettings:
        settings = OutboxSettings.from_config(self._base.section("messages"), self._base.language())
        return replace(settings, media_roots=tuple(agent.workspace for agent in self._agents.all()))

    async def _start(self) -> None:
        await self.outbox.open()
        again = await self.inbox.recover()
        self._base.tasks.spawn(
            prune_daily(self._db, self._base.clock, lambda: int(self._base.section("messages")["keep_days"])),
            name="take out old messages",
        )
        self._base.tasks.spawn(self.outbox.watch(), name="look for messages that wait")
        self._base.tasks.spawn(self.media.prune_daily(self._agents), name="delete old attachments")
        if again:
            _log.info("%d messages that were not answered before the stop are answered now", again)

    async def _stop(self) -> None:
        """Let quick runs end; interrupted ones resume at the next start."""
        self._queue.close()
        if not await self._runs.drain(timeout_s=DRAIN_LIMIT_S):
            await self._runs.cancel_all(timeout_s=CANCEL_LIMIT_S)
        self._publisher.close()
        await self.outbox.close()
