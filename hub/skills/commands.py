"""The commands that run skills: /skill, and one for each skill that people may call by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.core.ids import new_id
from hub.core.lazy_pattern import LazyPattern
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandReply, Commands
from hub.messaging.contract import Address
from hub.messaging.texts import say
from hub.security.redaction import Redactor
from hub.skills.registry import SkillRegistry
from hub.skills.skill import FoundSkill, filter_allowed
from hub.skills.tool import NAME as SKILL_TOOL
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.registry import ToolRegistry

ABOUT_CHARACTERS = 100
COMMANDS_LIMIT = 60
"""Skills that are commands of their own; all others are reached through /skill."""

_NAME = LazyPattern(r"[a-z][a-z0-9_]{0,31}")
_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")


class SkillCommandNeeds(Struct, frozen=True):
    """The dependencies of the commands of skills.

    Attributes:
        group_skills: Returns the list of skills that the room of an address is limited to; None for no limit.
    """

    skills: SkillRegistry
    agents: Agents
    tools: ToolRegistry
    redactor: Redactor
    group_skills: Callable[[Address], Sequence[str] | None]


class SkillCommands:
    """Carries out the commands of skills, and keeps their list.

    Args:
        commands: Registers the commands.
    """

    def __init__(self, commands: Commands, needs: SkillCommandNeeds) -> None:
        self._commands = commands
        self._needs = needs
        self._offered: dict[str, tuple[str, str]] = {}
        self._withdraw: list[Callable[[], None]] = []
        commands.add(ChatCommand("skill", self._skill, Category.SKILLS, people_only=True, arguments="[NAME] [INPUT]"))

    def update(self) -> None:
        """Register the present skills as commands; names of other commands are not replaced."""
        found = self._invocable()
        if found == self._offered:
            return
        self._offered = found
        for withdraw in self._withdraw:
            withdraw()
        free = [name for name in found if self._commands.get(name) is None]
        self._withdraw = [self._commands.add(*(self._command(name, *found[name]) for name in free))] if free else []

    def _invocable(self) -> dict[str, tuple[str, str]]:
        """Return name and description of the skills that people may call, by the name of the command."""
        registry = self._needs.skills
        ready = (each.skill for agent in self._needs.agents.all() for each in filter_allowed(registry.judge(agent.id)))
        files = {skill.name: skill.file for skill in ready if skill.file is not None and skill.file.user_invocable}
        named = {name.replace("-", "_")[:32]: (name, files[name].description) for name in sorted(files)}
        return {name: each for name, each in list(named.items())[:COMMANDS_LIMIT] if _NAME.fullmatch(name)}

    def _command(self, name: str, skill: str, about: str) -> ChatCommand:
        async def run(call: CommandCall) -> CommandReply:
            return await self._use(call, skill, call.arguments)

        return ChatCommand(name, run, Category.SKILLS, people_only=True, arguments="[INPUT]", help=_in_short(about))

    async def _skill(self, call: CommandCall) -> CommandReply:
        if call.word:
            return await self._use(call, call.arguments.split(None, 1)[0], call.rest)
        language = self._commands.language()
        usable = await self._usable(call)
        if not usable:
            return CommandReply(say("skill.none", language))
        lines = [f"- {name}: {each.file.description}" for name, each in sorted(usable.items()) if each.file is not None]
        return CommandReply("\n".join([say("skill.list", language), *lines]))

    async def _use(self, call: CommandCall, name: str, given: str) -> CommandReply:
        needs, language = self._needs, self._commands.language()
        usable = await self._usable(call)
        skill = usable.get(name) or usable.get(name.lower().replace("_", "-"))
        if skill is None or skill.file is None:
            near = get_close_matches(name.lower(), usable, n=1)
            key = "skill.near" if near else "skill.unknown"
            return CommandReply(say(key, language, name=name, near="".join(near)))
        if skill.file.tool is not None:
            return await self._dispatch(call, skill, skill.file.tool, given)
        policies = needs.agents.get(call.agent_id).tool_policies
        if SKILL_TOOL not in {tool.name for tool in needs.tools.available(call.context.authority, policies)}:
            return CommandReply(say("skill.no_tool", language, name=skill.name, tool=SKILL_TOOL))
        asked = say("skill.use", language, name=skill.name)
        return CommandReply("", message=f"{asked}\n\n{given}" if given else asked)

    async def _dispatch(self, call: CommandCall, skill: FoundSkill, tool_name: str, given: str) -> CommandReply:
        """Call the tool that a skill names, without a model, with the rights of the command's sender."""
        needs = self._needs
        tool = needs.tools.get(tool_name)
        if tool is None:
            told = say("skill.no_tool", self._commands.language(), name=skill.name, tool=tool_name)
            return CommandReply(told)
        request = ToolCallRequest(
            id=new_id(),
            name=tool_name,
            arguments=dispatched_arguments(tool.parameters.json_schema, given, call.name, skill.name),
            context=call.context,
            agent_id=call.agent_id,
            session_key=call.session_key,
            run_id=new_id(),
            policies=needs.agents.get(call.agent_id).tool_policies,
        )
        result = await invoke_tool(needs.tools, request, redact=needs.redactor.redact)
        return CommandReply(result.output)

    async def _usable(self, call: CommandCall) -> dict[str, FoundSkill]:
        needs = self._needs
        agent = needs.agents.get(call.agent_id)
        usable = await needs.skills.usable(agent.id, agent.skills, needs.group_skills(call.message.address))
        return {name: skill for name, skill in usable.items() if skill.file is not None and skill.file.user_invocable}


def _in_short(about: str) -> str:
    """Return the first sentence of a description, cut at a word if it is too long."""
    sentence = _SENTENCE.split(about, maxsplit=1)[0].rstrip(".")
    if len(sentence) <= ABOUT_CHARACTERS:
        return sentence
    return f"{sentence[:ABOUT_CHARACTERS].rsplit(' ', 1)[0]}…"


def dispatched_arguments(schema: Mapping[str, Any], given: str, command: str, skill: str) -> dict[str, Any]:
    """Return the arguments of a tool that a command calls: those of OpenClaw, as far as the tool takes them.

    A tool that takes none of those gets the command's text as its only required argument.
    """
    properties = schema.get("properties", {})
    passed = {"command": given, "commandName": command, "skillName": skill}
    taken = {name: value for name, value in passed.items() if name in properties}
    if "command" in taken:
        return taken
    texts = [name for name in schema.get("required", ()) if properties.get(name, {}).get("type") == "string"]
    return {texts[0]: given} if len(texts) == 1 else taken


def add_skill_commands(commands: Commands, needs: SkillCommandNeeds) -> SkillCommands:
    """Add the commands of skills; `update` of what is returned offers them again when they changed."""
    return SkillCommands(commands, needs)
