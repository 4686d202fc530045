"""The pages of automations, scripts and blueprints, made from the hub's parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.automation.editing.script_editor import ScriptEditor
from hub.automation.methods.services import service_data
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.sessions.keys import main_key
from web.automations.blueprints_page import BlueprintsPage
from web.automations.card_states import CardStates
from web.automations.detail_page import AutomationPage
from web.automations.edit_page import EditPage
from web.automations.edit_subjects import Subject, automation_subject, script_subject
from web.automations.entity_names import EntityNames
from web.automations.list_page import AutomationsPage
from web.automations.reminders_page import RemindersPage
from web.automations.scripts_page import ScriptsPage
from web.automations.service_data import ServiceFields
from web.core.method_client import MethodClient
from web.core.render import Renderer
from web.core.suggestions import NameCatalog
from web.entities.tiles import ICONS, icon_of

if TYPE_CHECKING:
    from hub.hub import Hub


PICK_ICONS = {
    "agent": "bot",
    "area": "door-open",
    "channel": "send",
    "device": "cable",
    "model": "sparkles",
    "person": "user",
}
"""Icons of what was picked, by kind."""


ANYBODY = {"any": phrase("Somebody"), "all": phrase("Everybody")}
"""Words that stand for people."""


class AutomationPages(Struct, frozen=True):
    """The pages of automations, scripts and blueprints."""

    list: AutomationsPage
    detail: AutomationPage
    edit: EditPage
    script_edit: EditPage
    reminders: RemindersPage
    blueprints: BlueprintsPage
    scripts: ScriptsPage


def make_automation_pages(hub: Hub, renderer: Renderer, client: MethodClient) -> AutomationPages:
    """Return the pages for a hub that is not in recovery mode."""
    engine, suggestions, names = hub.automation, NameCatalog(hub), EntityNames(hub.states.get, renderer.local)
    scripts = ScriptEditor(
        hub.config, lambda item: engine.blueprints.expand(item, "script"), engine.reload, engine.parts.kinds
    )

    async def duplicate(id: str) -> str:
        return (await engine.editor.duplicate(id)).written.id

    def picked(kind: str, name: str) -> dict[str, str]:
        if kind == "entity" and (state := hub.states.get(name)) is not None:
            icon = icon_of({"domain": name.partition(".")[0], **state.attributes})
            return {"value": name, "text": state.name, "sub": state.state, "icon": icon}
        if kind == "service":
            service = hub.services.get(*name.partition(".")[::2])
            return {"value": name, "text": (service and service.description) or name, "icon": "play" if service else ""}
        if kind == "icon":
            icon, text = ICONS.get(name, ("", name))
            return {"value": name, "text": text, "icon": icon}
        known = {**dict(suggestions.options({"type": kind})), **(ANYBODY if kind == "person" else {})}
        return {"value": name, "text": known.get(name, name), "icon": PICK_ICONS.get(kind, "")}

    def service_of(name: str) -> Mapping[str, Any] | None:
        service = hub.services.get(*name.partition(".")[::2])
        return None if service is None else service_data(service)

    shown = AutomationsPage(
        renderer,
        engine.automations,
        engine.traces,
        engine.spending,
        hub.redactor.redact,
        kinds=engine.parts.kinds,
        names=names,
        wall_time=hub.clock.time,
    )
    detail = AutomationPage(
        renderer,
        shown,
        engine.automations,
        engine.traces,
        engine.parts,
        redact=hub.redactor.redact_data,
        duplicate=duplicate,
        delete=engine.editor.delete,
    )
    services, states = ServiceFields(service_of, suggestions), CardStates(engine.parts, engine.traces, renderer.spoken)

    def editor_of(subject: Subject) -> EditPage:
        return EditPage(renderer, shown, subject, engine.editor.kinds, client, picked, services, states)

    return AutomationPages(
        list=shown,
        detail=detail,
        edit=editor_of(automation_subject(engine.automations, engine.editor)),
        script_edit=editor_of(script_subject(scripts)),
        reminders=RemindersPage(renderer, client, lambda: main_key(hub.agents.default().id), new_id),
        blueprints=BlueprintsPage(renderer, client, engine.blueprints, suggestions, scripts),
        scripts=ScriptsPage(renderer, client, scripts, engine.traces, suggestions, names),
    )
