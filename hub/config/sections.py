"""Sections: the top-level keys of the configuration, their schemas, and the checks that span several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from hub.config.paths import Key
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import Schema, Validator

if TYPE_CHECKING:
    from hub.config.checked import Config


class Section(Struct, frozen=True):
    """One top-level key.

    Attributes:
        name: The key.
        schema: Voluptuous schema or validator of its value.
        critical: Whether the hub enters recovery mode when it is broken.
        default: The value validated when the key is absent or empty; with None, an absent key gives None.
        description: One line, for documentation and the editor.
        restart: Whether a change takes effect only after a restart.
        each_item: Whether an item (of a list, or of a mapping by name) that is broken is left out alone, instead of the
            whole section.
        entries: Key of a mapping within the section; a broken entry of it is left out alone.
        shows_broken: Whether the part itself shows an item that broke as unavailable, so that a running hub takes the
            rest of a new configuration, instead of keeping the whole last good one.
        restart_keys: Keys of a mapping whose changes need a restart, while the others are applied live.
        described_with: The section that the reference describes it with, of several that are alike.
    """

    name: str
    schema: Schema | Validator
    critical: bool = False
    default: Any = None
    description: str = ""
    restart: bool = False
    each_item: bool = False
    entries: str = ""
    shows_broken: bool = False
    restart_keys: frozenset[str] = frozenset()
    described_with: str = ""

    @property
    def validate(self) -> Callable[[Any], Any]:
        """The function that validates a value of this section."""
        return self.schema if isinstance(self.schema, Schema) else Schema(self.schema)


class CheckReport(Protocol):
    """Collects the findings of a cross-check; the mark is looked up by the keys."""

    def error(self, keys: Iterable[Key], message: str, hint: str = "") -> None:
        """Report an error; the section (or the list item) that `keys` begin with is then broken."""
        ...

    def warning(self, keys: Iterable[Key], message: str, hint: str = "") -> None:
        """Report a warning, which breaks nothing."""
        ...


CrossCheck = Callable[["Config", CheckReport], None]
"""A second check over validated sections; it must cope with sections that are broken and so absent."""


class SchemaProblem(HubError):
    """The schema of an integration cannot be used; the message says why."""

    code = "SCHEMA_PROBLEM"


class IntegrationSections(Protocol):
    """The configuration's view of integrations; implemented in `hub.integration.schemas`."""

    @property
    def cross_checks(self) -> Mapping[str, CrossCheck]:
        """Further checks of the integrations whose section was used, by name."""
        ...

    @property
    def worker_checks(self) -> Mapping[str, CrossCheck]:
        """Their checks of a home that a worker carries beside others."""
        ...

    def domains(self) -> Iterable[str]:
        """Return the domains of all integrations that can be configured."""
        ...

    def section(self, domain: str) -> Section:
        """Return the section of an integration.

        Raises:
            SchemaProblem: Its manifest or its schema is broken.
        """
        ...

    def platforms(self, section: str) -> Iterable[str]:
        """Return the integrations that items of a section may name as their platform."""
        ...

    def platform(self, section: str, domain: str) -> Schema | None:
        """Return the schema of the items of a section that name an integration; None if it makes none of them.

        Raises:
            SchemaProblem: Its schema is broken.
        """
        ...


class NoIntegrations:
    """No integrations at all."""

    cross_checks: Mapping[str, CrossCheck] = {}
    worker_checks: Mapping[str, CrossCheck] = {}

    def domains(self) -> Iterable[str]:
        return ()

    def section(self, domain: str) -> Section:
        raise SchemaProblem(f"there is no integration {domain}")

    def platforms(self, section: str) -> Iterable[str]:
        return ()

    def platform(self, section: str, domain: str) -> Schema | None:
        return None


class Sections:
    """The registry of core sections and integration sections.

    Args:
        core: Sections of the hub's own parts.
        integrations: Sections of the integrations that were found.
        cross_checks: Second checks, by a name shown when one fails.
        within: Makes known to validators what they may use, while a configuration is checked.
    """

    def __init__(
        self,
        core: Iterable[Section] = (),
        integrations: IntegrationSections | None = None,
        cross_checks: Mapping[str, CrossCheck] | None = None,
        within: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.within = within
        self._core: dict[str, Section] = {}
        self.integrations: IntegrationSections = integrations or NoIntegrations()
        self.cross_checks: dict[str, CrossCheck] = dict(cross_checks or {})
        for section in core:
            self.add(section)

    def add(self, section: Section) -> None:
        """Add a core section.

        Raises:
            InvalidRequest: There is one with that name.
        """
        if section.name in self._core:
            raise InvalidRequest(f"there are two sections {section.name}")
        self._core[section.name] = section

    def core(self) -> list[Section]:
        """Return the core sections in the order in which they were added."""
        return list(self._core.values())

    def names(self) -> list[str]:
        """Return every valid name of the top level: core sections, then integrations."""
        return [*self._core, *sorted(set(self.integrations.domains()) - set(self._core))]

    def get(self, name: str) -> Section | None:
        """Return a section, or None for an unknown name.

        Raises:
            SchemaProblem: It belongs to an integration whose schema cannot be used.
        """
        if name in self._core:
            return self._core[name]
        if name in set(self.integrations.domains()):
            return self.integrations.section(name)
        return None

    def is_core(self, name: str) -> bool:
        """Whether `name` is a core section."""
        return name in self._core
