"""`homarus mcp`: the MCP servers, their tools, and calling one."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.json_argument import json_object
from hub.cli.options import home_option, json_option, print_json
from hub.cli.verbs import Answer, verb

CALL_LIMIT_S = 3_900.0
"""A call may wait for an approval."""
PARALLEL_LIMIT = 8
EVENTS = "text/event-stream"
NOT_JSON = -32700
FAILED = -32603


@click.group("mcp", cls=Group)
def command() -> None:
    """Use the tools of other programs, by the Model Context Protocol.

    Example:
      homarus mcp list
    """


@verb(command, columns=("server", "state", "tools", "where", "remark"))
def list_(client: HubClient) -> Answer:
    """List the servers of the configuration, and how they are.

    Example:
      homarus mcp list
    """
    servers = client.call("mcp.list")["servers"]
    rows = [(each["name"], each["state"], str(each["tools"]), each["where"], _remark(each)) for each in servers]
    return servers, rows


@verb(command)
@click.argument("server")
def tools(client: HubClient, server: str) -> Answer:
    """Show the tools of SERVER as it describes them.

    Example:
      homarus mcp tools github
    """
    found = client.call("mcp.tools", {"server": server})["tools"]
    if not found:
        how = next(each for each in client.call("mcp.list")["servers"] if each["name"] == server)
        return found, f"It has no tools: {how['state']}. {_remark(how)}".strip()
    lines = [f"{each['name']}{' (changed)' if each['changed'] else ''}\n  {each['said']}\n" for each in found]
    return found, "\n".join(lines)


@verb(command)
@click.argument("server")
def accept(client: HubClient, server: str) -> Answer:
    """Take the tools of SERVER as they are now: those that changed no longer ask at each call.

    Example:
      homarus mcp accept github
    """
    answer = client.call("mcp.accept", {"server": server})
    return answer, f"Accepted: {', '.join(answer['accepted']) or 'nothing had changed'}."


@verb(command, name="sign-in")
@click.argument("url")
def sign_in(client: HubClient, url: str) -> Answer:
    """Finish signing in with URL, the address that the browser ended at, when that was another machine's.

    Example:
      homarus mcp sign-in 'http://127.0.0.1:18789/mcp/callback?code=…&state=…'
    """
    answer = client.call("mcp.sign_in", {"url": url})
    return answer, "Signed in; `homarus mcp list` shows how the server is."


@command.command("call")
@click.argument("tool")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="Its arguments.")
@home_option
@json_option
def call(tool: str, arguments: str, home: Path, as_json: bool) -> None:
    """Call TOOL, by the name that `homarus mcp tools` shows; it may wait for your approval.

    Example:
      homarus mcp call mcp_github_search_issues --args '{"query": "is:open"}'
    """
    params = {"name": tool, "args": json_object(arguments, "--args")}
    answer = HubClient(home).call("tools.invoke", params, timeout_s=CALL_LIMIT_S)
    if as_json:
        print_json(answer)
        raise click.exceptions.Exit(Exit.OK if answer["ok"] else Exit.FINDINGS)
    if not answer["ok"]:
        raise CommandFailed(answer["error"]["message"], Exit.FINDINGS)
    click.echo(answer["output"]["content"][0]["text"])


@command.command("serve")
@home_option
@json_option
def serve(home: Path, as_json: bool) -> None:
    """Offer the running hub's tools on the standard streams, to a program that starts its servers itself.

    It needs `mcp: {server: {enabled: true}}` in the configuration.

    Example:
      homarus mcp serve
    """
    HubClient(home)  # says how to start one, before anything is read
    writing = Lock()

    def answer(message: dict[str, Any]) -> None:
        try:
            for found in HubClient(home).stream("/mcp", message, {"Accept": EVENTS}, timeout_s=CALL_LIMIT_S):
                _write(found, writing)
        except CommandFailed as error:
            _write({"id": message["id"], "error": {"code": FAILED, "message": str(error)}}, writing)

    with ThreadPoolExecutor(PARALLEL_LIMIT) as pool:
        for line in sys.stdin:
            try:
                message = json.loads(line)
            except ValueError:
                _write({"id": None, "error": {"code": NOT_JSON, "message": "this line is not JSON"}}, writing)
                continue
            if isinstance(message, dict) and "id" in message:  # a notification has no answer
                pool.submit(answer, message)


def _write(message: dict[str, Any], writing: Lock) -> None:
    with writing:
        click.echo(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))


def _remark(server: dict[str, Any]) -> str:
    changed = f"changed: {', '.join(server['changed'])}" if server["changed"] else ""
    sign_in = f"sign in at {server['sign_in']}" if server["sign_in"] else ""
    return "; ".join(each for each in (server["reason"], sign_in, changed) if each)


COMMANDS = {"mcp": command}
