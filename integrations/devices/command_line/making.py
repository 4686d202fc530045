"""Makes the entities: what a command writes is read now and then, and services run commands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.automation.services.configured_command import CommandOutcome, ConfiguredCommands
from hub.automation.services.tools import ToolFailed
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, Schema, string
from hub.core.services import AgentRule, ServiceCall
from integrations.devices.command_line.controls import CommandControl
from integrations.devices.command_line.schema import NAMES, items
from integrations.devices.read_entity import ReadEntity, Reading, forget_gone

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_MESSAGE = Schema(
    {
        Required("message", description="The text."): string,
        Optional("title", description="Not used: a command gets the message alone."): string,
        Optional("data", description="Not used."): object,
        Optional("target", description="Not used."): object,
    }
)


def make(host: IntegrationHost) -> None:
    """Make the entities and services of the section."""
    taken: set[str] = set()
    runner = CommandRunner(host)
    for domain, settings in items(host.config):
        if domain == "notify":
            _add_notify(host, runner, settings)
            continue
        entity = (
            CommandControl(host, domain, settings, NAMES[domain], taken, runner)
            if domain in ("switch", "cover")
            else CommandSensor(host, domain, settings, NAMES[domain], taken)
        )
        command = settings.get("command") or settings.get("command_state")
        if command is None:
            entity.read("")
            continue
        polled = PolledCommand(host, runner, entity, command)
        reading = Reading(host, entity.handle.entity_id, settings["scan_interval"], polled.ask, [entity])
        host.spawn(polled.live(reading), name=f"read {entity.handle.entity_id}")
    forget_gone(host, (host.domain,), taken)

    async def reload(call: ServiceCall) -> None:
        await host.services.call("hub", "reload", {}, context=call.context)

    host.services.register("reload", reload, description="Read the files of command line entities again")


class CommandRunner:
    """Runs commands of the section."""

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._commands = ConfiguredCommands(
            host.automation.templates, host.tools.registry, host.agents, host.redactor.redact
        )

    async def run(self, command: str, settings: Mapping[str, Any], context: Context, **more: Any) -> CommandOutcome:
        """Run a command; raises `HubError`."""
        return await self._commands.run(command, {}, context, timeout_s=settings["command_timeout"], **more)

    def own_context(self) -> Context:
        """Return the rights of what runs by itself: the owner's, who wrote it into the configuration."""
        owner = self._host.people.owners()[0].id
        return Context(Authority("command_line", person=owner, scopes=SCOPES, owner=True))


class CommandSensor(ReadEntity):
    """A sensor or binary sensor by what a command writes."""

    def _is_on(self, value: str | None) -> str | None:
        on, off = self._settings["payload_on"], self._settings["payload_off"]
        return {on: "on", off: "off"}.get(str(value))


class PolledCommand:
    """A command that is run now and then.

    What has to be asked about is run once: a home whose owner is asked every minute says yes to anything. It runs again
    when somebody asks for the entity's update, and by itself once it needs no question.
    """

    def __init__(self, host: IntegrationHost, runner: CommandRunner, entity: ReadEntity, command: str) -> None:
        self._host, self._runner, self._entity, self._command = host, runner, entity, command
        self._was_asked = False
        self._unasked = asyncio.Event()
        """Set while it needs no question."""

    async def ask(self) -> str:
        """Return what it writes; raises `HubError`."""
        self._was_asked = False
        id = self._entity.handle.entity_id
        context = self._runner.own_context()
        try:
            ended = await self._runner.run(self._command, self._entity.settings, context, update=self._update)
        except ToolFailed as error:
            if self._was_asked:
                self._tell(str(error.message))
            raise
        if self._was_asked:
            self._tell(phrase("it was run once, since you allowed it once"))
        else:
            self._host.repairs.clear(self._host.domain, id)
            self._unasked.set()
        if ended.code and not isinstance(self._entity, CommandControl):
            raise Unavailable(phrase("the command ended with the code {code}", code=ended.code))
        return self._entity.written(ended) if isinstance(self._entity, CommandControl) else ended.output.strip()

    async def live(self, reading: Reading) -> None:
        """Run it as long as the hub runs and nobody has to be asked."""
        while True:
            wait_s = await reading.look()
            if self._was_asked:
                self._unasked.clear()
                await self._unasked.wait()
            await self._host.clock.sleep(wait_s)

    def _update(self, output: str = "", *, waits: bool = False) -> None:
        self._was_asked |= waits

    def _tell(self, why: str) -> None:
        self._host.repairs.raise_(
            self._host.domain,
            self._entity.handle.entity_id,
            phrase("{entity} is not read again by itself", entity=self._entity.handle.entity_id),
            phrase(
                "Its command does not run without a question: {why}. Allow it for good, write it into exec: allow:, or "
                "set exec: mode: full; then reload.",
                why=why,
            ),
        )


def _add_notify(host: IntegrationHost, runner: CommandRunner, settings: Mapping[str, Any]) -> None:
    async def notify(call: ServiceCall) -> None:
        ended = await runner.run(settings["command"], settings, call.context, reads=call.data["message"])
        if ended.code:
            raise InvalidRequest(phrase("the command ended with the code {code}", code=ended.code), outside=True)

    told = f"Give a message to {settings['command']}"[:200]
    undo = host.services.registry.register(
        "notify", settings["name"], notify, _MESSAGE, agent=AgentRule.ASK, description=told, open_world=True
    )
    host.on_unload(undo)
