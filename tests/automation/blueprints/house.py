"""A home that runs automations made from blueprints: the real engine and the services' real schemas, driven by a test.

What the services would do beyond this home is kept instead, and answered as they answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.agent.tidy.service import TIDY_SCHEMA
from hub.automation.blueprints.blueprints import Blueprints
from hub.automation.engine.parts import AutomationParts
from hub.automation.services.agent_run import AGENT_RUN_SCHEMA
from hub.automation.services.heartbeat import DUE_SCHEMA, HEARTBEAT_SCHEMA
from hub.automation.services.messages import NOTIFY_SCHEMA, SEND_SCHEMA
from hub.automation.services.remembered_pages import RememberedPages
from hub.automation.services.web import register_web
from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from hub.security.egress import Egress
from tests.automation.engine_rig import ANYTHING, Engine


class Purse:
    """What was spent, as a test says."""

    def __init__(self) -> None:
        self.dollars = 0.0

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        return self.dollars

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        return 0


class House(Engine):
    """A home whose automations come from blueprints."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.spending = self.purse = Purse()
        self.egress_allowed: set[str] = set()
        self.egress = Egress(lambda: self.egress_allowed)
        self.is_due = True
        self.tidied: dict[str, Any] = {"summary": "", "contradictions": [], "problems": []}

    def offered(self) -> Mapping[str, Schema]:
        """The services whose calls are kept, by name."""
        anything = dict.fromkeys(("light.turn_on", "light.turn_off", "scene.create"), ANYTHING)
        return {
            "agent.run": AGENT_RUN_SCHEMA,
            "agent.heartbeat": HEARTBEAT_SCHEMA,
            "notify.notify": NOTIFY_SCHEMA,
            "message.send": SEND_SCHEMA,
            **anything,
        }

    def expand(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """What an item that uses a blueprint expands to."""
        return Blueprints(self.home, self.egress).expand(item)

    def furnish(self, parts: AutomationParts) -> None:
        """Offer what answers for itself."""
        register_web(parts.services, self.egress, RememberedPages(self.home / "pages"))
        parts.services.register("agent", "heartbeat_due", self._due, DUE_SCHEMA, ResponseMode.ONLY)
        parts.services.register("memory", "tidy", self._tidy, TIDY_SCHEMA, ResponseMode.OPTIONAL, idempotent=True)

    def use(self, path: str, inputs: Mapping[str, Any] | None = None, id: str = "x") -> None:
        """Write an automation that uses a blueprint."""
        self.write(json.dumps([{"id": id, "alias": id, "use_blueprint": {"path": path, "input": dict(inputs or {})}}]))

    def blueprint(self, text: str, path: str = "me/test.yaml") -> None:
        """Write a blueprint of this home."""
        file = self.home / "blueprints" / "automation" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def state(self, entity_id: str, state: str, **attributes: Any) -> None:
        self.parts.states.set(entity_id, state, attributes)

    async def hear(self, message: Mapping[str, Any]) -> None:
        """Let a message arrive, and what it sets off come to where it waits."""
        self.fire("message_received", message)
        await self.settle()

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the calls since the last time."""
        taken, self.calls = self.calls, []
        return taken

    async def after(self, seconds: float) -> list[tuple[str, dict[str, Any]]]:
        """Let time pass and return the calls that were made."""
        await self.advance(seconds)
        await self.settle()
        return self.take()

    async def _tidy(self, call: ServiceCall) -> Mapping[str, Any]:
        self.calls.append(("memory.tidy", dict(call.data)))
        return self.tidied

    async def _due(self, call: ServiceCall) -> Mapping[str, Any]:
        return {"due": self.is_due, "reason": "as the test says"}
