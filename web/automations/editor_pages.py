"""The workshop: the pages in which a home is looked into and built, made when the first of them is visited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hub.automation.editing.script_editor import ScriptEditor
from hub.core.tasks import TaskOwner
from web.automations.blueprints_page import BlueprintsPage
from web.automations.page_set import AutomationPages, make_automation_pages
from web.automations.scripts_page import ScriptsPage
from web.automations.template_preview import TemplatePreview
from web.core.method_client import MethodClient
from web.core.render import Renderer
from web.core.suggestions import NameCatalog
from web.developer.developer_page import DeveloperPage
from web.developer.event_log import EventLog
from web.developer.state_rows import StateRows
from web.memory.page_set import MemoryPages, make_memory_pages
from web.memory.pulse import MemoryPulse

if TYPE_CHECKING:
    from hub.hub import Hub


@dataclass(frozen=True, slots=True)
class EditorPages:
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
    door: MethodClient
    events: EventLog
    pulse: MemoryPulse
    tasks: TaskOwner
    zone: Callable[[], ZoneInfo]


def make_workshop(hub: Hub, needs: WorkshopNeeds) -> EditorPages:
    """Return the pages for a hub that is not in recovery mode."""
    renderer, door, house = needs.renderer, needs.door, hub.automation
    known = NameCatalog(hub)
    scripts = ScriptEditor(hub.config, lambda item: house.blueprints.expand(item, "script"), house.reload)
    states = StateRows(hub.states, hub.redactor, renderer)
    preview = TemplatePreview(house.parts.templates, hub.redactor)
    return EditorPages(
        automations=make_automation_pages(hub, renderer),
        blueprints=BlueprintsPage(renderer, door, house.blueprints, known, scripts),
        scripts=ScriptsPage(renderer, door, scripts, house.traces, known),
        developer=DeveloperPage(renderer, door, states, needs.events, preview, known),
        memory=make_memory_pages(hub, renderer, door, needs.pulse, needs.tasks, needs.zone),
    )
