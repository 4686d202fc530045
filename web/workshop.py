"""The workshop: the pages in which a home is looked into and built, made when the first of them is visited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hub.automation.script_editing import ScriptEditor
from hub.core.tasks import TaskOwner
from web.automation_pages import AutomationPages, make_automation_pages
from web.door import Door
from web.event_log import EventLog
from web.known import Known
from web.memory_pages import MemoryPages, make_memory_pages
from web.memory_pulse import MemoryPulse
from web.pages.blueprints import BlueprintsPage
from web.pages.developer import DeveloperPage
from web.pages.scripts import ScriptsPage
from web.render import Renderer
from web.state_rows import StateRows
from web.template_preview import TemplatePreview

if TYPE_CHECKING:
    from hub.hub import Hub


@dataclass(frozen=True, slots=True)
class Workshop:
    """The pages of the workshop."""

    automations: AutomationPages
    blueprints: BlueprintsPage
    scripts: ScriptsPage
    developer: DeveloperPage
    memory: MemoryPages


@dataclass(frozen=True, slots=True)
class WorkshopNeeds:
    """What the pages stand on, beside the hub.

    Attributes:
        zone: Returns the hub's time zone.
    """

    renderer: Renderer
    door: Door
    events: EventLog
    pulse: MemoryPulse
    tasks: TaskOwner
    zone: Callable[[], ZoneInfo]


def make_workshop(hub: Hub, needs: WorkshopNeeds) -> Workshop:
    """Return the pages for a hub that is not in recovery mode."""
    renderer, door, house = needs.renderer, needs.door, hub.automation
    known = Known(hub)
    scripts = ScriptEditor(hub.config, lambda item: house.blueprints.expand(item, "script"), house.reload)
    states = StateRows(hub.states, hub.redactor, renderer)
    preview = TemplatePreview(house.parts.templates, hub.redactor)
    return Workshop(
        automations=make_automation_pages(hub, renderer),
        blueprints=BlueprintsPage(renderer, door, house.blueprints, known, scripts),
        scripts=ScriptsPage(renderer, door, scripts, house.traces, known),
        developer=DeveloperPage(renderer, door, states, needs.events, preview, known),
        memory=make_memory_pages(hub, renderer, door, needs.pulse, needs.tasks, needs.zone),
    )
