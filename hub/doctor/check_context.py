"""The input of the checks: a home directory, its configuration, and the running hub, if any."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from hub.config.checked import Checked, Config
from hub.integration.catalog import CatalogEntry, find
from hub.integration.in_use import in_use
from hub.storage.homedir import Home
from hub.storage.instance_lock import Running, read_running

Needed = Callable[[Config, Mapping[str, CatalogEntry]], set[str]]
Ask = Callable[[str], Mapping[str, Any]]


class CheckContext:
    """One home directory.

    Args:
        home: Its paths.
        check: Checks its configuration.
        needed: Names the integrations that a configuration needs without naming them.
        ask: Calls a method of the running hub, by name, and returns its payload; raises `HubError` when that fails.
    """

    def __init__(
        self,
        home: Home,
        check: Callable[[], Checked],
        needed: Needed,
        ask: Ask,
    ) -> None:
        self.home = home
        self.ask = ask
        self._check = check
        self._needed = needed

    @cached_property
    def running(self) -> Running | None:
        """The running hub on it, if any."""
        return read_running(self.home.path)

    @cached_property
    def checked(self) -> Checked:
        """The configuration and all of its errors."""
        return self._check()

    @property
    def config(self) -> Config:
        """The configuration without its broken parts."""
        return self.checked.config

    @cached_property
    def catalog(self) -> Mapping[str, CatalogEntry]:
        """All available integrations."""
        return find(self.home.path)

    @cached_property
    def used(self) -> set[str]:
        """The integrations that a hub sets up on it: defaults, configured ones, and their dependencies."""
        return in_use(self.config, self.catalog, self._needed(self.config, self.catalog))

    def command(self, text: str) -> str:
        """Return a `homarus` command line for this home."""
        return f"homarus {text} --config {shlex.quote(str(self.home))}"
