"""The tool `skill_propose`: an agent writes down a procedure; its owner reviews and enables it."""

from __future__ import annotations

from hub.core.schema import All, Length, Match, Required, Schema, string
from hub.skills.control import SkillControl
from hub.skills.skill_file import DESCRIPTION_LIMIT
from hub.skills.tool import GROUP
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

NAME = "skill_propose"
INSTRUCTIONS_LIMIT = 20_000

_SCHEMA = Schema(
    {
        Required("name", description="Of a-z, 0-9 and dashes."): All(
            string,
            Length(max=64),
            Match(r"^[a-z0-9]+(?:-[a-z0-9]+)*$", msg="expected a-z, 0-9 and single dashes, at most 64"),
        ),
        Required("description", description="What it is for and when to use it, in one or two sentences."): All(
            string,
            Length(min=10, max=DESCRIPTION_LIMIT),
            Match(r"^[^\r\n\"\\]+$", msg="expected one line without quotes"),
        ),
        Required("instructions", description="Markdown: the steps, the files and the tools."): All(
            string, Length(min=20, max=INSTRUCTIONS_LIMIT)
        ),
    }
)


def propose_tool(control: SkillControl) -> Tool:
    """Return the tool."""

    async def run(call: ToolCall) -> ToolResult:
        given, authority = call.arguments, call.context.authority
        front = f'name: {given["name"]}\ndescription: "{given["description"]}"'
        text = f"---\n{front}\n---\n\n{given['instructions'].strip()}\n"
        origin = {
            "kind": "proposal",
            "source": call.session_key,
            "agent": call.agent_id,
            "outside": authority.tainted or not authority.owner,
        }
        id = await control.propose(given["name"], text, origin)
        told = (
            f"proposed as {id}. It is off until the owner looks at it and enables it: the page Skills of the dashboard"
        )
        return ToolResult(f"{told}, or `homarus skills info {id}`", details={"id": id})

    return Tool(
        NAME,
        "Propose a skill: how to do a task that came up before and will again. The owner decides whether it is used.",
        from_schema(_SCHEMA),
        run,
        GROUP,
        Annotations(destructive=False, idempotent=True, open_world=False, egress=False),
    )
