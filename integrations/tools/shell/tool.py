"""The tools of commands, as agents see them."""

from __future__ import annotations

from hub.core.schema import All, In, Length, Match, Optional, Range, Required, Schema, boolean, integer, string
from hub.tools.approval_questions import CALL_TIMEOUT_S
from hub.tools.command_line import COMMAND_CHARS
from hub.tools.contract import Annotations, Tool
from hub.tools.parameters import from_schema
from integrations.tools.shell.exec_tool import BACKGROUND_LIMIT_S, TIMEOUT_LIMIT_S, TIMEOUT_S, ExecTool
from integrations.tools.shell.process_tool import WAIT_LIMIT_S, ProcessTool

GROUP = "shell"
DATA_CHARS = 100_000
KEYS_LIMIT = 500
HOSTS = ("auto", "sandbox", "hub", "node")

_EFFECTS = Annotations(open_world=False, owner_only=False, egress=True)
"""Each result says itself whether it holds words from outside; all but plain listings do."""

EXEC = Schema(
    {
        Required("command", description="A program with arguments, or shell text."): All(
            string, Length(min=1, max=COMMAND_CHARS)
        ),
        Optional("workdir", default=".", description="Relative to the workspace, or absolute."): All(
            string, Length(min=1, max=4_096), Match(r"[^\x00-\x1f\x7f]+\Z", msg="expected a path")
        ),
        Optional("env", default=dict, description="LANG, LC_*, TZ, TERM, COLUMNS, LINES, NO_COLOR, CI."): {
            string: string
        },
        Optional("background", default=False, description="Do not wait; use process afterwards."): boolean,
        Optional(
            "timeout_s", description=f"Seconds until it is ended; {TIMEOUT_S} without it, a day in the background."
        ): All(integer, Range(min=1, max=BACKGROUND_LIMIT_S)),
        Optional("pty", default=False, description="Give it a terminal."): boolean,
        Optional(
            "host",
            default="auto",
            description="Where; auto is where this conversation's commands run. A sandbox rarely needs approval.",
        ): In(HOSTS),
        Optional("node", description="Of host node: its name or id; not needed if one alone runs commands."): All(
            string, Length(min=1, max=128)
        ),
    }
)

PROCESS = Schema(
    {
        Required("action", description="poll brings what is new, log all that is kept."): In(
            ["list", "poll", "log", "write", "send_keys", "kill"]
        ),
        Optional("id", description="Of the command, as exec gave it."): All(string, Length(min=1, max=20)),
        Optional("wait_s", default=0, description="poll: seconds to wait for news."): All(
            integer, Range(min=0, max=WAIT_LIMIT_S)
        ),
        Optional("offset", description="log: from this byte on."): All(integer, Range(min=0)),
        Optional("data", description="write: for its input, with line breaks."): All(string, Length(max=DATA_CHARS)),
        Optional("eof", default=False, description="write: end its input."): boolean,
        Optional("keys", description="send_keys: characters, enter, tab, up, ctrl-c, and so on."): All(
            [All(string, Length(min=1, max=20))], Length(max=KEYS_LIMIT)
        ),
    }
)


def shell_tools(executing: ExecTool, processes: ProcessTool) -> list[Tool]:
    """Return the tools."""
    return [
        Tool(
            "exec",
            "Run a command. A program with plain arguments may run at once; shell text, interpreters and all that is "
            "not known to be harmless wait for the owner's approval, unless they run in a sandbox.",
            from_schema(EXEC),
            executing.run,
            GROUP,
            _EFFECTS,
            approval=lambda arguments, authority: None,
            timeout_s=CALL_TIMEOUT_S + TIMEOUT_LIMIT_S + 60,
        ),
        Tool(
            "process",
            "Look after commands in the background: list, poll, log, write to their input, send_keys, kill.",
            from_schema(PROCESS),
            processes.run,
            GROUP,
            _EFFECTS,
            approval=lambda arguments, authority: None,
            timeout_s=WAIT_LIMIT_S + 30.0,
        ),
    ]
