"""Switches and covers that run a command, and whose state another command may tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hub.automation.services.configured_command import CommandOutcome
from hub.core.context import Context, system_context
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from integrations.devices.read_entity import ReadEntity

if TYPE_CHECKING:
    from hub.host import IntegrationHost

COMMANDS = {
    "switch": {"turn_on": "command_on", "turn_off": "command_off"},
    "cover": {"open_cover": "command_open", "close_cover": "command_close", "stop_cover": "command_stop"},
}
AFTER = {"turn_on": "on", "turn_off": "off"}
"""What a switch is after a command, where no other command tells."""


class Runs(Protocol):
    """Runs commands."""

    async def run(self, command: str, settings: Mapping[str, Any], context: Context) -> CommandOutcome:
        """Run one; raises `HubError`."""


class CommandControl(ReadEntity):
    """A switch or cover."""

    def __init__(
        self,
        host: IntegrationHost,
        domain: str,
        settings: Mapping[str, Any],
        name: str,
        taken: set[str],
        runner: Runs,
    ) -> None:
        self._runner = runner
        self._is_told = "command_state" in settings
        self._position = 0
        self._assumed: str | None = None if domain == "cover" else "off"
        super().__init__(host, domain, {"force_update": False, **settings}, name, taken, self._does(COMMANDS[domain]))
        self.handle.endangers = lambda: True

    def written(self, ended: CommandOutcome) -> str:
        """Return what the command of its state says: of a switch without a template, how it ended."""
        if self._domain == "switch" and "value_template" not in self._settings:
            return "false" if ended.code else "true"
        return ended.output.strip()

    def _sensed(self, value: str | None) -> str | None:
        if not self._is_told:
            return self._assumed
        if self._domain == "switch":
            return "on" if str(value).lower() == "true" else "off"
        try:
            self._position = int(float(str(value)))
        except (ValueError, OverflowError):
            raise ValueError(phrase("expected a number, got {value}", value=str(value)[:80])) from None
        return "open" if self._position else "closed"

    def _attributes(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        if not self._is_told:
            return {"assumed_state": True} if self._domain == "switch" else {}
        if self._domain != "cover" or self._state is None:
            return {}
        return {"current_position": self._position}

    def _does(self, commands: Mapping[str, str]) -> dict[str, Any]:
        def doing(service: str, key: str) -> Any:
            async def do(data: Mapping[str, Any]) -> None:
                cause = self.handle.cause or system_context()
                ended = await self._runner.run(self._settings[key], self._settings, cause)
                if ended.code:
                    raise Unavailable(phrase("the command ended with the code {code}", code=ended.code))
                if self._is_told and (refresh := self.handle.refresh) is not None:
                    await refresh()
                else:
                    self._assumed = AFTER.get(service)
                    self.read("")

            return do

        return {service: doing(service, key) for service, key in commands.items()}
