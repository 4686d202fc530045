"""The present tool rules: those of the configuration, or the minimal profile while it cannot be read."""

from __future__ import annotations

from hub.config.checked import Config
from hub.core.phrases import phrase
from hub.core.repairs import Repairs
from hub.tools.policy import ToolRules, profile_policy


def rules_in_force(config: Config, repairs: Repairs) -> ToolRules:
    """Return the present rules; while the section `tools` is broken, the minimal profile, with a repair.

    Args:
        config: The current configuration.
        repairs: A broken section opens a repair.
    """
    if "tools" not in config.broken:
        repairs.clear("tools", "broken")
        return ToolRules.from_config(config.or_default("tools"))
    repairs.raise_(
        "tools",
        "broken",
        phrase("Agents can use almost no tools"),
        phrase(
            "The section tools of the configuration has an error, so its rules are unknown. Until it is fixed, only "
            "the tools of the profile minimal are allowed."
        ),
        location={"path": "tools"},
    )
    return ToolRules(policies=(profile_policy("minimal", "tools"),))
