"""A trigger: automations begin with it. The manifest names it in `triggers`.

This one fires at the event `kiosk_knocked`. An automation that uses it:
`{id: knocked, triggers: [{trigger: kiosk_knock, door: front}], actions: [{event: somebody_is_here}]}`

`arm` returns a function that ends the watching. It must not wait; pass `tainted=True` to `trigger.fire` when what it
carries comes from outside this home. The check of a configuration reads this file without the integration: it imports
nothing relative and nothing third-party.

The contract: `hub/automation/contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.core.events import Event, Unsubscribe
from hub.core.schema import Required, string


def arm(config: Mapping[str, Any], trigger: TriggerHost) -> Unsubscribe:
    """Watch until what is returned is called."""

    def knocked(event: Event) -> None:
        door = event.data["door"]
        trigger.fire({"door": door, "description": f"a knock at {door}"}, event.context)

    return trigger.parts.bus.listen("kiosk_knocked", knocked, {"door": config["door"]})


KINDS = {
    "kiosk_knock": TriggerKind(
        name="kiosk_knock",
        fields={Required("door", description="Which door."): string},
        arm=arm,
        explain=lambda config: f"when someone knocks at {config['door']}",
        description="Somebody knocked at a door.",
    )
}
