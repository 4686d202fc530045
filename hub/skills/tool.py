"""The tool `skill`: a model reads the instructions of a skill, and the files beside them."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence

import orjson

from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import All, Length, Optional, Range, Schema, integer, string
from hub.skills.registry import SkillRegistry, read_checked
from hub.skills.skill import FoundSkill
from hub.skills.skill_file import FILE_NAME, body_of
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

NAME = "skill"
GROUP = "skills"
SHOWN_CHARACTERS = 25_000
FILES_SHOWN = 100

_TEXT = All(string, Length(min=1, max=256))
_SCHEMA = Schema(
    {
        Optional("name", description="Of the skill; without it, all are listed."): _TEXT,
        Optional("path", default=FILE_NAME, description="A file of it; its instructions without one."): _TEXT,
        Optional("offset", default=0, description="Character to go on from."): All(integer, Range(min=0)),
    }
)


class SkillTool:
    """The tool.

    Args:
        allowed: Returns the list of names that an agent is limited to; None for no limit.
    """

    def __init__(self, skills: SkillRegistry, allowed: Callable[[str], Sequence[str] | None]) -> None:
        self._skills = skills
        self._allowed = allowed

    def tool(self) -> Tool:
        """Return the tool."""
        about = "Read the instructions of a skill before you do what it is for, or a file that they name."
        return Tool(NAME, about, from_schema(_SCHEMA), self._run, GROUP, READS_HOME)

    async def _run(self, call: ToolCall) -> ToolResult:
        usable = await self._usable(call)
        name, path = call.arguments.get("name"), call.arguments["path"]
        if name is None:
            lines = [f"- {each.name}: {each.file.description}" for each in usable.values() if each.file is not None]
            return ToolResult("\n".join(sorted(lines)) or "there are no skills")
        skill = usable.get(name)
        if skill is None or skill.file is None:
            near = difflib.get_close_matches(name, usable, n=1)
            raise NotFound(f"there is no skill {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        files = await asyncio.to_thread(read_checked, skill)
        text = self._text(skill, files, path)
        offset = call.arguments["offset"]
        shown = text[offset : offset + SHOWN_CHARACTERS]
        if offset + len(shown) < len(text):
            shown += f"\n[cut: go on with offset={offset + len(shown)} of {len(text)}]"
        return ToolResult(shown, details={"skill": skill.name, "path": path, "id": skill.id})

    async def _usable(self, call: ToolCall) -> Mapping[str, FoundSkill]:
        taken = self._skills.in_conversation(call.session_key)
        now = await self._skills.usable(call.agent_id, self._allowed(call.agent_id))
        # What the conversation was given bounds it, as in a group with a list of its own.
        return now if taken is None else {name: skill for name, skill in now.items() if name in taken.skills}

    def _text(self, skill: FoundSkill, files: Mapping[str, bytes], path: str) -> str:
        data = files.get(path)
        if data is None:
            there = ", ".join(sorted(files)[:FILES_SHOWN])
            raise NotFound(f"the skill {skill.name} has no file {path!r}; it has: {there}")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"{path} of the skill {skill.name} is not text") from error
        if path != FILE_NAME or skill.file is None:
            return text
        config = self._skills.settings.entry(skill.file).config
        others = [each for each in sorted(files) if each != FILE_NAME]
        parts = [
            f"# Skill {skill.name}",
            f"Its directory: {skill.folder}" if others else "",
            f"Its other files, for `skill` with path: {', '.join(others[:FILES_SHOWN])}" if others else "",
            f"Its settings here: {orjson.dumps(dict(config), default=str).decode()}" if config else "",
            body_of(text),
        ]
        return "\n\n".join(part for part in parts if part)
