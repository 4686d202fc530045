"""An action: a step of automations and scripts. The manifest names it in `actions`.

An automation that uses it: `{id: dusk, triggers: [{trigger: sun, event: sunset}], actions: [{kiosk_sign: closed}]}`

Every action counts as having done something outside its run, and an automation that survives a restart does not do it
again; one that only waits or computes says `effect=False`. What it may ask of `run` is `StepRun` in the contract. Raise
a `HubError` when it fails. The check of a configuration reads this file without the integration: it imports nothing
relative and nothing third-party.

The contract: `hub/automation/contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.core.schema import In, Required


async def run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    """Turn the sign."""
    run.tell(sign=step["kiosk_sign"])  # shown in the trace
    if run.dry is not None:  # a trial run changes nothing
        return
    run.parts.states.set("sensor.kiosk_sign", step["kiosk_sign"], context=run.context)


KINDS = {
    "kiosk_sign": ActionKind(
        name="kiosk_sign",
        fields={Required("kiosk_sign", description="What the sign is to say."): In(["open", "closed"])},
        run=run,
        explain=lambda step: f"turn the sign to {step['kiosk_sign']}",
        description="Turn the sign of the Kiosk.",
    )
}
