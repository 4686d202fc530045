"""Binary sensors: they turn on and off after a while, and off by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.context import Context
from hub.template.native import as_bool
from integrations.devices.template.entity import TemplateEntity
from integrations.devices.template.home import Remembered


class TemplateBinarySensor(TemplateEntity):
    """A binary sensor; its value `state` changes only once what its template says has lasted."""

    _waiting: asyncio.Task[None] | None = None
    _turning_off: asyncio.Task[None] | None = None
    _off_at: float | None = None
    _cause: Context | None = None

    def close(self) -> None:
        """Follow nothing any more, and wait no longer."""
        super().close()
        self._stop()

    def restore(self, known: Remembered) -> None:
        """Be what it was; it is off where it would have turned off by itself meanwhile."""
        super().restore(known)
        if "auto_off" not in self.settings or known.off_at is None or not known.state:
            return
        if known.off_at <= self.home.clock.time():
            self.values["state"] = False
        else:
            self._turn_off_at(known.off_at)

    def taken(self, before: Mapping[str, Any], changed: Iterable[str]) -> None:
        """Wait where it turns on or off only after a while; what is said meanwhile begins anew."""
        if "state" not in changed:
            return
        self._end_waiting()
        wanted, now = self.values["state"], before.get("state")
        delay_s = self._delay(wanted) if wanted is not None and wanted != now else None
        if delay_s:
            self.values["state"] = now
            self._waiting = self.home.host.spawn(self._later(wanted, delay_s), name=f"delay of {self.unique_id}")

    def settle(self, cause: Context | None, variables: Mapping[str, Any]) -> None:
        """Show what a trigger made of it, perhaps after a while."""
        self._stop()
        self._cause = cause
        if not self._is_available:
            self.values["state"] = self._before
            self.write(cause)
            self.values["state"] = self._before
            return
        wanted, now = as_bool(self.values["state"]), self._before
        delay_s = self._delay(wanted)
        if wanted == now or not delay_s:
            self._become(wanted)
            return
        self.values["state"] = now
        self._waiting = self.home.host.spawn(self._later(wanted, delay_s), name=f"delay of {self.unique_id}")

    def update(self, variables: Mapping[str, Any], cause: Context | None, *, tainted: bool) -> None:
        """Work all of it out because of a trigger."""
        self._before = self.values.get("state")
        super().update(variables, cause, tainted=tainted)

    def remembered(self, *, tainted: bool) -> Remembered | None:
        """Return what is to be known of it after a restart."""
        known = super().remembered(tainted=tainted)
        return replace(known, off_at=self._off_at) if known is not None else None

    def _delay(self, wanted: Any) -> float | None:
        return self.values.get("delay_on" if wanted else "delay_off")

    def _become(self, wanted: Any) -> None:
        self.values["state"] = wanted
        auto_off_s = self.values.get("auto_off")
        if self.triggered and wanted and auto_off_s is not None:
            self._turn_off_at(self.home.clock.time() + auto_off_s)
        self.write(self._cause)

    async def _later(self, wanted: bool, delay_s: float) -> None:
        await self.home.clock.sleep(delay_s)
        self._waiting = None
        self._become(wanted)

    def _turn_off_at(self, moment: float) -> None:
        self._off_at = moment
        self._turning_off = self.home.host.spawn(self._turn_off(moment), name=f"turn off {self.unique_id}")

    async def _turn_off(self, moment: float) -> None:
        await self.home.clock.sleep_until(moment)
        self._off_at = self._turning_off = None
        self.values["state"] = False
        self.write(None)

    def _end_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _stop(self) -> None:
        self._end_waiting()
        if self._turning_off is not None:
            self._turning_off.cancel()
        self._off_at = self._turning_off = None
