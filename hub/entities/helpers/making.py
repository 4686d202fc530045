"""`group.set`, `scene.create`, `scene.apply` …: what automations make while the hub runs, and states at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.phrases import in_series, phrase
from hub.core.schema import All, Length, Optional, Range, Required, Schema, boolean, number, string
from hub.core.services import ServiceCall, ServiceRegistry
from hub.core.states import StateMachine
from hub.entities.helpers.groups import ENTITIES, GROUP
from hub.entities.helpers.home_helpers import HomeHelpers
from hub.entities.helpers.scene import SCENE, STATES
from hub.entities.helpers.scene_states import steps_to
from hub.entities.helpers.schema import key_name

_SET = Schema(
    {
        Required("object_id", description="The second part of its id."): key_name,
        Optional("name", description="Its name."): All(string, Length(min=1, max=100)),
        Optional("icon", description="Its icon, such as mdi:fan."): string,
        Optional("entities", description="Its members."): ENTITIES,
        Optional("add_entities", description="Further members."): ENTITIES,
        Optional("remove_entities", description="Members that leave."): ENTITIES,
        Optional("all", description="Whether it is on only while all are."): boolean,
    }
)


def register_groups(services: ServiceRegistry, helpers: HomeHelpers) -> None:
    """Register the services that make groups."""

    async def set_group(call: ServiceCall) -> None:
        data = call.data
        known = helpers.get(GROUP.domain, data["object_id"])
        if known is None and "entities" not in data:
            raise InvalidRequest(phrase("expected one of {keys}", keys=["entities"]))
        before: Mapping[str, Any] = known.settings if known is not None else {"entities": [], "all": False}
        members = [*data.get("entities", before["entities"]), *data.get("add_entities", ())]
        gone = data.get("remove_entities", ())
        said = {key: data[key] for key in ("name", "icon", "all") if key in data}
        order = before.get("order", helpers.count(GROUP))
        entities = [each for each in dict.fromkeys(members) if each not in gone]
        helpers.make(GROUP, data["object_id"], {**before, **said, "entities": entities, "order": order})

    async def remove_group(call: ServiceCall) -> None:
        helpers.unmake(GROUP, call.data["object_id"])

    services.register(GROUP.domain, "set", set_group, _SET, description="Make a group, or change one that was made")
    gone = Schema({Required("object_id", description="The second part of its id."): key_name})
    services.register(GROUP.domain, "remove", remove_group, gone, description="Remove a group that was made")


_SCENE = Schema(
    {
        Required("scene_id", description="The second part of its id."): key_name,
        Optional("entities", default=dict, description="The state of each entity."): STATES,
        Optional("snapshot_entities", default=list, description="Entities whose states now are taken."): ENTITIES,
    }
)
_APPLY = Schema(
    {
        Required("entities", description="The state of each entity."): STATES,
        Optional("transition", description="How long lights take, in seconds."): All(number, Range(min=0, max=86_400)),
    }
)


def register_scenes(services: ServiceRegistry, helpers: HomeHelpers, states: StateMachine) -> None:
    """Register the services that make scenes, and bring about the states of one."""

    async def create(call: ServiceCall) -> None:
        wanted = dict(call.data["entities"])
        for each in call.data["snapshot_entities"]:
            state = states.get(each)
            if state is None:
                raise NotFound(phrase("there is no entity {entity}", entity=each))
            wanted[each] = {**state.attributes, "state": state.state}
        if not wanted:
            raise InvalidRequest(phrase("expected one of {keys}", keys=["entities", "snapshot_entities"]))
        helpers.make(SCENE, call.data["scene_id"], {"entities": wanted})

    async def delete(call: ServiceCall) -> None:
        for each in call.data["entity_id"]:
            helpers.unmake(SCENE, each.partition(".")[2])

    async def apply(call: ServiceCall) -> None:
        """Bring each entity into its state; what one refuses keeps no other from its own."""
        errors: list[str] = []
        for entity, wanted in call.data["entities"].items():
            domain, steps = entity.partition(".")[0], list(steps_to(entity, wanted))
            if not steps:
                errors.append(phrase("no service here brings {entity} into that state", entity=entity))
            for name, data in steps:
                fade = (
                    {"transition": call.data["transition"]} if domain == "light" and "transition" in call.data else {}
                )
                try:
                    target = {"entity_id": entity, **data, **fade}
                    await services.call(domain, name, target, context=call.context)
                except HubError as error:
                    errors.append(error.message)
        if errors:
            raise Unavailable(in_series(errors))

    domain = SCENE.domain
    services.register(domain, "create", create, _SCENE, description="Make a scene, or change one that was made")
    gone = Schema({Required("entity_id", description="Scenes that were made."): ENTITIES})
    services.register(domain, "delete", delete, gone, description="Remove a scene that was made")
    services.register(domain, "apply", apply, _APPLY, description="Bring entities into states")
