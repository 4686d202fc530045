"""`memory.list|read|write|changes|undo|import|export`: the files of memory as people read, edit and carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import HubError, NotFound
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    slug,
)
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, WRITE, Method, MethodCall
from hub.gateway.calls.plain_data import as_json
from hub.memory.contract import CHANGES_LIMIT
from hub.memory.methods.memory_api import AGENT, PATH, MemoryApi, valid_text, without_words
from hub.memory.notebook import Edit
from hub.memory.shapes import plain

OWNER = "gateway"
FILE_LIMIT = 1_048_576
"""Characters of one file."""
EDITS_LIMIT = 50
BATCH_FILES = 200
BATCH_LIMIT = 4_194_304
"""Characters of the files that come in, or go out, in one frame: with every one of them escaped it still fits."""
DIFF_LIMIT = 65_536
DIFFS_LIMIT = 2_097_152
SUMMARY_LIMIT = 200
_TEXT = All(valid_text, Length(max=FILE_LIMIT))
_NAME = All(valid_text, Length(min=1, max=4_096))
_HASH = AnyOf(None, All(valid_text, Length(min=1, max=128)))


def _batch(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not 1 <= len(value) <= BATCH_FILES:
        raise Invalid(f"expected a mapping of 1 to {BATCH_FILES} names to texts")
    size = 0
    for name, text in value.items():
        _NAME(name)
        _TEXT(text)
        size += len(text)
    if size > BATCH_LIMIT:
        raise Invalid(f"expected at most {BATCH_LIMIT} characters at once, got {size}")
    return dict(value)


_FILES = Described(_batch, {"type": "object"}, "mapping of names to texts")
_EDITS = Schema(
    All(
        [
            {
                Required("path", description="A memory file."): PATH,
                Required("text", description="All of it; null deletes the file."): AnyOf(None, _TEXT),
                Optional("base_hash", default=None, description="What memory.read gave; null for a new file."): _HASH,
            }
        ],
        Length(min=1, max=EDITS_LIMIT),
    )
)


class MemoryFileMethods:
    """The methods about files.

    Args:
        api: Resolves a call's memory and rights.
    """

    def __init__(self, api: MemoryApi) -> None:
        self._api = api

    def methods(self) -> list[Method]:
        """Return the methods."""
        read = Schema({Required("path", description="A memory file."): PATH, **AGENT})
        write = Schema(
            {
                Required("edits", description="All of them or none."): _EDITS,
                Optional("summary", default="", description="One line on what was changed."): All(
                    valid_text, Length(max=SUMMARY_LIMIT)
                ),
                **AGENT,
            }
        )
        changes = Schema(
            {
                Optional("limit", default=50, description="How many, the newest first."): All(
                    integer, Range(min=1, max=CHANGES_LIMIT)
                ),
                **AGENT,
            }
        )
        undo = Schema({Required("id", description="Of the change."): All(valid_text, Length(min=1, max=128)), **AGENT})
        import_ = Schema(
            {
                Required("files", description="Markdown by relative name."): _FILES,
                Required("origin", description="Where they come from, in a word."): slug,
                Optional("trusted", default=False, description="Whether you vouch for every word in them."): boolean,
                **AGENT,
            }
        )
        export = Schema(
            {Optional("after", default=None, description="`next` of the last answer."): AnyOf(None, PATH), **AGENT}
        )
        return [
            Method("memory.list", self._list, OWNER, Schema(dict(AGENT)), READ),
            Method("memory.read", self._read, OWNER, read, READ),
            Method(
                "memory.write",
                self._write,
                OWNER,
                write,
                WRITE,
                acts=True,
                kept=without_words,
                frame_limit=LARGE_FRAME_BYTES,
            ),
            Method("memory.changes", self._changes, OWNER, changes, READ),
            Method("memory.undo", self._undo, OWNER, undo, WRITE, acts=True, kept=without_words),
            Method(
                "memory.import",
                self._import,
                OWNER,
                import_,
                ADMIN,
                acts=True,
                kept=without_words,
                frame_limit=LARGE_FRAME_BYTES,
            ),
            Method("memory.export", self._export, OWNER, export, ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        files = await self._api.memory.notebook.files(agent_id=self._api.agent(call), scope=self._api.scope(call))
        rows = [plain(each) for each in files]
        # Ten years have thousands of files: their names are looked over together, and one by one only if need be.
        paths = "\n".join(each.path for each in files)
        if self._api.redact(paths) != paths:
            return self._api.plain_data({"files": rows})
        return {"files": [row if row["path"].isascii() else as_json(row) for row in rows]}

    async def _read(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._api.memory.notebook.read(
            call.params["path"], agent_id=self._api.agent(call), scope=self._api.scope(call)
        )
        text = self._api.redact(found.text)
        # Who writes back what was taken out of the text would lose it; without the hash that is refused.
        whole = text == found.text
        return self._api.plain_data(
            {"path": found.path, "text": text, "hash": found.hash if whole else None, "redacted": not whole}
        )

    async def _write(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        edits = [Edit(each["path"], each["text"], each["base_hash"]) for each in params["edits"]]
        summary = params["summary"].strip() or f"Edited {', '.join(each.path for each in edits)}"[:SUMMARY_LIMIT]
        change = await self._api.memory.notebook.write(
            edits,
            agent_id=self._api.agent(call),
            scope=self._api.whose(call),
            reason="edit",
            who=self._api.who(call),
            summary=summary,
        )
        return self._api.plain_data(plain(change))

    async def _changes(self, call: MethodCall) -> Mapping[str, Any]:
        changes = await self._api.memory.notebook.changes(
            agent_id=self._api.agent(call), scope=self._api.scope(call), limit=call.params["limit"]
        )
        told_of: list[dict[str, Any]] = []
        left = DIFFS_LIMIT
        for each in changes:
            room = min(left, DIFF_LIMIT)
            left -= min(room, len(each.diff))
            told_of.append({**plain(each), "diff": each.diff[:room], "diff_cut": len(each.diff) > room})
        return self._api.plain_data({"changes": told_of})

    async def _undo(self, call: MethodCall) -> Mapping[str, Any]:
        change = await self._api.memory.notebook.undo(
            call.params["id"],
            agent_id=self._api.agent(call),
            scope=self._api.whose(call),
            who=self._api.who(call),
        )
        return self._api.plain_data(plain(change))

    async def _import(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        written = await self._api.memory.notebook.bring_in(
            params["files"],
            origin=params["origin"],
            trusted=params["trusted"],
            agent_id=self._api.agent(call),
            scope=self._api.owners(call),
        )
        return self._api.plain_data({"written": written})

    async def _export(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the owner's files, as many as fit into a frame; `next` continues after them."""
        agent_id, scope, after = self._api.agent(call), self._api.owners(call), call.params["after"]
        notebook = self._api.memory.notebook
        listed = await notebook.files(agent_id=agent_id, scope=scope)
        paths = sorted(each.path for each in listed if each.writable and (after is None or each.path > after))
        files: list[dict[str, Any]] = []
        notes: list[str] = []
        size = 0
        last = None
        for path in paths:
            if len(files) >= BATCH_FILES or size >= BATCH_LIMIT - FILE_LIMIT:
                return self._api.plain_data({"files": files, "notes": notes, "next": last})
            last = path
            try:
                found = await notebook.read(path, agent_id=agent_id, scope=scope)
            except NotFound:
                continue  # gone since it was listed
            except HubError as error:
                notes.append(f"{path} is left out: {error.message}")
                continue
            text = self._api.redact(found.text)
            if text != found.text:
                notes.append(f"{path} held a secret of the configuration, which was taken out of it")
            size += len(text)
            files.append({"path": path, "text": text})
        return self._api.plain_data({"files": files, "notes": notes, "next": None})
