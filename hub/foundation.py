"""The foundation of every component: the home, the configuration and the parts of `hub/core`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.config.store import ConfigStore
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.languages import has_twelve_hours
from hub.core.repairs import Repairs
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.integration.catalog import CatalogEntry, find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.security.redaction import Redactor
from hub.storage.homedir import Home


class Foundation(Struct, frozen=True):
    """The home, its configuration, and the services that know no part.

    Attributes:
        catalog, schemas: The integrations, and their schemas.
    """

    home: Home
    config: ConfigStore
    clock: Clock
    tasks: TaskOwner
    bus: EventBus
    states: StateMachine
    repairs: Repairs
    redactor: Redactor
    catalog: Mapping[str, CatalogEntry]
    schemas: IntegrationSchemas

    def section(self, name: str) -> Any:
        """Return a section of the current configuration."""
        return self.config.current.or_default(name)

    def language(self) -> str:
        """Return the home's language."""
        return str(self.section("hub")["language"])

    def twelve_hours(self) -> bool:
        """Return whether times are written as 3:30 pm."""
        section = self.config.current.or_default("hub")
        return has_twelve_hours(section["time_format"], section["language"])

    def zone(self) -> tzinfo:
        """Return the home's time zone."""
        return ZoneInfo(str(self.config.current.or_default("hub")["time_zone"]))


def read_home(home: Home, clock: Clock, redactor: Redactor) -> Foundation:
    """Return the foundation of a hub, with the configuration loaded."""
    tasks = TaskOwner("hub")
    bus = EventBus(tasks, clock.time)
    repairs = Repairs(bus, clock.time)
    catalog = find(home)
    schemas = IntegrationSchemas(catalog)
    config = ConfigStore(home, all_sections(schemas), bus, repairs, wall_time=clock.time)
    config.load()
    return Foundation(
        home=home,
        config=config,
        clock=clock,
        tasks=tasks,
        bus=bus,
        states=StateMachine(bus, clock.time),
        repairs=repairs,
        redactor=redactor,
        catalog=catalog,
        schemas=schemas,
    )
