"""The host of an integration over the few parts of a hub that a test has built."""

from __future__ import annotations

from typing import Any, cast

from hub.core.clock import ALWAYS
from hub.host import HubParts, IntegrationHost
from hub.integration.registrations import Registrations

DEFAULTS = {"lease": ALWAYS, "share": None}


class _Missing:
    """A part that the test has not built; so are its own parts."""

    def __getattr__(self, name: str) -> Any:
        return None


class _Parts:
    """The parts of a test by the names that a host uses; missing ones for the others."""

    def __init__(self, house: Any) -> None:
        self._house = house

    def __getattr__(self, name: str) -> Any:
        return getattr(self._house, name, DEFAULTS.get(name, _Missing()))


def host_on(house: Any, domain: str) -> tuple[IntegrationHost, Registrations]:
    """Return a host over the parts of `house`, and the record of what is registered through it."""
    registrations = Registrations(domain)
    return IntegrationHost(domain, registrations, cast(HubParts, _Parts(house))), registrations
