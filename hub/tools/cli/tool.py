"""`homarus tool run`: one tool, used as an agent would use it."""

from __future__ import annotations

from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import Exit
from hub.cli.groups import Group
from hub.cli.json_argument import as_object
from hub.cli.verbs import Answer, verb

RUN_S = 3_600.0
"""A call may wait for an approval, and then take its time."""


@click.group("tool", cls=Group)
def command() -> None:
    """Use a tool as an agent would, under the same rules.

    Example:
      homarus tool run ls
    """


@verb(command)
@click.argument("name")
@click.option("--args", "arguments", metavar="JSON", default="{}", callback=as_object, help="Arguments, a JSON object.")
@click.option("--session", metavar="KEY", help="In this session; the default agent's main one without it.")
@click.option("--no-wait", is_flag=True, help="Do not wait when it takes an approval; it is done once approved.")
def run(client: HubClient, name: str, arguments: dict[str, Any], session: str | None, no_wait: bool) -> Answer:
    """Use the tool NAME in a session, with its rules, approvals and text that others wrote.

    Example:
      homarus tool run exec --args '{"command": "date"}'
    """
    params = {"name": name, "args": arguments, "wait": not no_wait}
    answer = client.call("tools.run", params | ({"sessionKey": session} if session else {}), timeout_s=RUN_S)
    code = {"denied": Exit.NOT_AUTHORISED, "error": Exit.FINDINGS}.get(answer["status"], Exit.OK)
    if answer["status"] == "approval_required":
        return answer, f"This waits for an approval: homarus approvals approve {answer['approval_id']}", code
    return answer, answer["output"], code
