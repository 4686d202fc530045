"""The tools that change files: write, edit, apply_patch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound
from hub.security.jail_path import components
from hub.security.root import Root
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.files.changes import PlannedChange, carry_out, diff_of, plan_change, read_existing, states
from integrations.tools.files.editing import Replacement, apply_edits
from integrations.tools.files.patching import PatchAction, PatchSection, apply_hunks, parse_patch
from integrations.tools.files.problems import explain
from integrations.tools.files.reading import READ_LIMIT_BYTES, decode
from integrations.tools.files.session_files import SessionFiles
from integrations.tools.files.unasked import INBOX

PATCHED_LIMIT_BYTES = 4 * READ_LIMIT_BYTES


class PlannedCall(Struct, frozen=True):
    """The planned changes of a call, and the message about them."""

    changes: list[PlannedChange]
    summary: str


Planner = Callable[[Root, ToolCall], PlannedCall]


class WritingTools:
    """`write`, `edit` and `apply_patch`: each plans its changes whole, which are then shown or made."""

    def __init__(self, files: SessionFiles) -> None:
        self._files = files
        self._outside = files.outside
        self._planners: Mapping[str, Planner] = {
            "write": _plan_write,
            "edit": self._plan_edit,
            "apply_patch": self._plan_patch,
        }

    async def preview(self, call: ToolCall) -> str:
        """Return the changes of a call, as a unified diff."""
        return await self._files.on_disk(call, _path(call), lambda root: diff_of(self._plan(root, call).changes))

    async def run(self, call: ToolCall) -> ToolResult:
        """Make the changes."""

        def change(root: Root) -> ToolResult:
            plan = self._plan(root, call)
            from_outside = self._outside.writes_from_outside(call.context.authority)
            held_outside = [
                each.before is not None and self._outside.holds(call.agent_id, each.before) for each in plan.changes
            ]
            for each, holds in zip(plan.changes, held_outside, strict=True):
                # What stays of words from outside is still theirs, whoever changes the rest.
                if each.after is not None and (from_outside or (holds and each.keeps)):
                    self._mark(call.agent_id, root, each.target, each.after)
            wanted = list(states(plan.changes))
            kept = self._files.undo.keep(call.session_key, wanted)
            try:
                carry_out(root, wanted, executable=not from_outside)
            except (OSError, HubError):
                self._files.undo.drop(kept)
                raise
            diff = diff_of(plan.changes)
            shows = not any(held_outside) and any(each.before is not None for each in plan.changes)
            paths = [each.target for each in plan.changes]
            details: dict[str, Any] = {"path": paths[0], "paths": paths, "diff": diff}
            return ToolResult(f"{plan.summary}\n{diff}" if shows else plan.summary, details=details)

        return await self._files.on_disk(call, _path(call), change)

    def _plan(self, root: Root, call: ToolCall) -> PlannedCall:
        return self._planners[call.name](root, call)

    def _plan_edit(self, root: Root, call: ToolCall) -> PlannedCall:
        path = call.arguments["path"]
        change, data = _present(root, path, path)
        quoting = not self._outside.holds(call.agent_id, data)
        edited = apply_edits(decode(data, path), _replacements(call.arguments), path, quoting=quoting)
        places = "1 place" if edited.count == 1 else f"{edited.count} places"
        loosely = f" ({edited.loosely} differed in spaces or quotes)" if edited.loosely else ""
        change = replace(change, after=_encoded(edited.text))
        return PlannedCall([change], f"edited {path} in {places}{loosely}")

    def _plan_patch(self, root: Root, call: ToolCall) -> PlannedCall:
        changes, said = [], []
        for section in parse_patch(call.arguments["input"]):
            if section.action is PatchAction.ADD:
                changes.append(_added(root, section))
                said.append(f"added {section.path}")
                continue
            change, data = _present(root, section.path, section.target)
            if section.action is PatchAction.DELETE:
                changes.append(replace(change, after=None))
                said.append(f"deleted {section.path}")
                continue
            if section.hunks:
                quoting = not self._outside.holds(call.agent_id, data)
                data = _encoded(apply_hunks(decode(data, section.path), section, quoting=quoting))
            changes.append(replace(change, after=data))
            moved = f", moved to {section.target}" if section.target != section.path else ""
            said.append(f"updated {section.path}{moved}")
            if sum(len(each.before or b"") for each in changes) > PATCHED_LIMIT_BYTES:
                raise LimitExceeded(f"the patch changes more than {PATCHED_LIMIT_BYTES} bytes; make several of it")
        return PlannedCall(changes, "\n".join(said))

    def _mark(self, agent_id: str, root: Root, path: str, data: bytes) -> None:
        names = components(path)
        folders = ["/".join(names[:depth]) for depth in range(1, len(names))]
        new = [folder for folder in folders if folder != INBOX and not root.exists(folder)]
        self._outside.mark(agent_id, path, data, new)


def _plan_write(root: Root, call: ToolCall) -> PlannedCall:
    path, data = call.arguments["path"], _encoded(call.arguments["content"])
    change = plan_change(root, path, data, read_existing(root, path, READ_LIMIT_BYTES))
    verb = "wrote" if change.before is None else "replaced"
    return PlannedCall([change], f"{verb} {path} ({len(data)} bytes)")


def _present(root: Root, path: str, target: str) -> tuple[PlannedChange, bytes]:
    """Return the change that keeps a file as it is, and its content."""
    try:
        root.stat(path)
        before = read_existing(root, path, READ_LIMIT_BYTES)
    except OSError as error:
        raise explain(error, path, root) from error
    if before is None:
        raise NotFound(f"there is no file {path}", details={"path": path})
    return replace(plan_change(root, path, before[0], before, target), keeps=True), before[0]


def _added(root: Root, section: PatchSection) -> PlannedChange:
    if root.exists(section.path):
        raise InvalidRequest(f"{section.path} exists already; use `*** Update File: {section.path}`")
    return plan_change(root, section.path, _encoded(section.text), None)


def _replacements(arguments: Mapping[str, Any]) -> list[Replacement]:
    """Return the replacements of an edit: its `edits`, or the one of its own keys.

    Raises:
        InvalidRequest: It has none, or both.
    """
    own = {key: arguments[key] for key in ("old_text", "new_text") if key in arguments}
    edits = arguments.get("edits")
    if (edits is None) == (not own) or len(own) == 1:
        raise InvalidRequest("expected either old_text and new_text, or edits: a list of such pairs")
    return [
        Replacement(each["old_text"], each["new_text"], bool(each.get("replace_all")))
        for each in edits or [{**own, "replace_all": arguments["replace_all"]}]
    ]


def _path(call: ToolCall) -> str:
    return str(call.arguments.get("path", "a file of the patch"))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"the text has a broken character at position {error.start}") from error
