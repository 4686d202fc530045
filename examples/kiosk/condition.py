"""A condition: automations run only if it is met. The manifest names it in `conditions`.

An automation that uses it:
`{id: dusk, triggers: [{trigger: sun, event: sunset}], conditions: [{condition: kiosk_sign, is: open}], actions: […]}`

A condition that must wait has `check_later`, a coroutine function, in place of `check`. Raise a `HubError` when it
cannot be said whether it is met. The check of a configuration reads this file without the integration: it imports
nothing relative and nothing third-party.

The contract: `hub/automation/contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.core.schema import In, Required


def check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    """Compare the sign with what it should be."""
    sign = asking.parts.states.get("sensor.kiosk_sign")
    now = sign.state if sign is not None else "unknown"
    return ConditionVerdict(now == config["is"], f"the sign says {now}")


KINDS = {
    "kiosk_sign": ConditionKind(
        name="kiosk_sign",
        fields={Required("is", description="What the sign says."): In(["open", "closed", "unknown"])},
        explain=lambda config: f"the sign says {config['is']}",
        description="The sign says that it is open, or closed.",
        check=check,
    )
}
