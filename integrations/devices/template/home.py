"""What all template entities of a home share: the hub, what is remembered, and their actions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hub.automation.contract import RunOutcome
from hub.automation.running.execute import execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.config.paths import KeyPath
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Conflict, HubError
from hub.core.phrases import phrase
from hub.core.states import EntityState
from hub.core.tasks import TaskOwner
from hub.entities.danger import steps_endanger
from hub.storage.delayed_file import DelayedFile
from hub.storage.versioned_file import VersionedFile
from hub.template.contract import HUB_FUNCTIONS

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_log = logging.getLogger(__name__)

FILE = "integrations/template/remembered.json"
VERSION = 1
SAVE_AFTER_S = 1.0
_UNKNOWN = {"action": "{{ }}"}
"""Of a script whose steps are in a blueprint: it may do anything."""
DEPTH_LIMIT = 10
"""How many actions of template entities may be in the chain of causes of one."""


class ActionFailed(HubError):
    """An action of a template entity failed; the message says where and why."""

    code = "ACTION_FAILED"


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of an entity after a restart.

    Attributes:
        state: Its value of that name.
        shown: Its name, icon and picture.
        off_at: When it turns off by itself, seconds since the epoch.
        tainted: Whether words from outside are in it.
    """

    state: Any = None
    shown: Mapping[str, Any] = {}
    attributes: Mapping[str, Any] = {}
    off_at: float | None = None
    tainted: bool = False


class TemplateHome:
    """The surroundings of template entities.

    Args:
        host: The hub.

    Attributes:
        is_starting: Whether the hub starts: what templates cannot find yet is no error.
    """

    def __init__(self, host: IntegrationHost) -> None:
        self.host, self.parts = host, host.automation
        self.clock, self.is_starting = host.clock, False
        self._tasks = TaskOwner("template")
        self._file = VersionedFile(host.home.storage / FILE, VERSION, documents=host.home.documents)
        self._remembered: dict[str, Remembered] = {}
        self._saved = DelayedFile(
            self._file, lambda: msgspec.to_builtins(self._remembered), self._tasks, self.clock.sleep, SAVE_AFTER_S
        )
        self._active: dict[str, str] = {}
        self._turn, self._is_counting = 1, False

    async def open(self) -> None:
        """Load what is remembered."""
        stored = await asyncio.to_thread(self._file.read)
        self._remembered = msgspec.convert(stored or {}, dict[str, Remembered])
        self.host.on_unload(self._saved.close)

    def remembered(self, unique_id: str) -> Remembered | None:
        """Return what is known of an entity from before."""
        return self._remembered.get(unique_id)

    def remember(self, unique_id: str, known: Remembered | None) -> None:
        """Keep what is known of an entity; None for nothing."""
        if known == self._remembered.get(unique_id):
            return
        if known is None:
            del self._remembered[unique_id]
        else:
            self._remembered[unique_id] = known
        self._saved.changed()

    def forget_others(self, unique_ids: set[str]) -> None:
        """Forget all but these."""
        for each in self._remembered.keys() - unique_ids:
            self.remember(each, None)

    def place(self, keys: KeyPath) -> str:
        """Return file, line and path of a key."""
        found = self.host.config.location(keys)
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
        return f"{found['file']}:{found['line']} {path}"

    async def run(self, plan: RunPlan, variables: Mapping[str, Any], context: Context) -> None:
        """Do the actions of an entity to their end, with the rights of whoever asked for it.

        Raises:
            ActionFailed: They failed.
            Conflict: They ask for themselves, again and again.
        """
        callers = [self._active[id] for id in (*context.chain, context.id) if id in self._active]
        if plan.owner_id in callers or len(callers) >= DEPTH_LIMIT:
            raise Conflict(phrase("{entity} would do this again and again, because of itself", entity=plan.owner_id))
        if plan.owner_id in self._active.values():
            _log.warning("%s: it was asked again while its actions were still running; nothing was done", plan.owner_id)
            return
        hidden: dict[str, Any] = {} if context.authority.owner else dict.fromkeys(HUB_FUNCTIONS)
        run = RunState(plan, self.parts, context.child(), variables={**hidden, **variables})
        self._active[run.context.id] = plan.owner_id
        try:
            ended = await execute(run)
        finally:
            del self._active[run.context.id]
        if ended.outcome in (RunOutcome.FAILED, RunOutcome.TIMED_OUT, RunOutcome.INTERRUPTED):
            raise ActionFailed(phrase("{script} failed: {error}", script=plan.owner_id, error=ended.error))

    def authority(self, place: str) -> Authority:
        """Return the rights of a block: those of the owner, who wrote it, as of an automation in the configuration."""
        return Authority(f"template:{place}", person=self.host.people.owners()[0].id, scopes=SCOPES, owner=True)

    def endanger(self, steps: Any) -> bool:
        """Whether actions do what an agent asks about."""

        def steps_of(key: str) -> Any:
            script = (self.host.config.get("script") or {}).get(key)
            return _UNKNOWN if script is not None and "use_blueprint" in script else script

        return steps_endanger(steps, self.host.states.get, steps_of, moves=self.host.entities.all.endangers)

    def turn(self) -> int:
        """Return the number of this turn of the event loop."""
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._count_turn)
        return self._turn

    def _count_turn(self) -> None:
        self._turn, self._is_counting = self._turn + 1, False

    def state(self, entity_id: str) -> EntityState | None:
        """Return the state of an entity."""
        return self.host.states.get(entity_id)
