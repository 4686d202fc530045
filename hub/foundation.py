"""The foundation of every component: the home, the configuration and the parts of `hub/core`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from hub.config.sections import CrossCheck
from hub.config.store import ConfigStore
from hub.config.tags import NO_ENVIRONMENT
from hub.core.clock import ALWAYS, Clock, Lease
from hub.core.events import EventBus
from hub.core.lanes import Lanes
from hub.core.languages import has_twelve_hours
from hub.core.repairs import Repairs
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.integration.catalog import CatalogEntry, find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.security.redaction import Redactor
from hub.storage.database import Database
from hub.storage.homedir import Home


class Share(Struct, frozen=True):
    """What a worker gives to a home that it carries beside others.

    Attributes:
        lease: Of the worker.
        database: Makes the hub database of the home, whose files lie at a path.
        lanes: The places for runs that all homes of the worker share.
        checks: What its configuration must not ask for.
        cache: A folder of this machine for what can be made again.
        tasks: Owner of what serves all homes.
        made: What one home has made for all, by its name.
        apart: What is begun in it, and logged by that, is of no home.
    """

    lease: Lease
    database: Callable[[Path], Database]
    lanes: Lanes
    checks: Mapping[str, CrossCheck]
    cache: Path
    tasks: TaskOwner
    made: dict[str, Any]
    apart: Callable[[], AbstractContextManager[None]]


class Foundation(Struct, frozen=True):
    """The home, its configuration, and the services that know no part.

    Attributes:
        catalog, schemas: The integrations, and their schemas.
        lease: Looked at before anything is done outside.
        share: What the worker gives that carries this home, if one does.
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
    lease: Lease = ALWAYS
    share: Share | None = None

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


def read_home(home: Home, clock: Clock, redactor: Redactor, share: Share | None = None) -> Foundation:
    """Return the foundation of a hub, with the configuration loaded."""
    tasks = TaskOwner("hub")
    bus = EventBus(tasks, clock.time)
    repairs = Repairs(bus, clock.time)
    catalog = find(home if share is None else None)  # code of a home's own has no place beside other homes
    schemas = IntegrationSchemas(catalog)
    sections = all_sections(schemas)
    if share is not None:
        sections.cross_checks.update(share.checks)
    environment = None if share is None else NO_ENVIRONMENT
    config = ConfigStore(home, sections, bus, repairs, environment=environment, wall_time=clock.time)
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
        lease=ALWAYS if share is None else share.lease,
        share=share,
    )
