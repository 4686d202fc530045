"""MCP servers by name, and whether the hub is one itself."""

from __future__ import annotations

from typing import Any

from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Schema,
    SchemaError,
    boolean,
    positive_seconds,
    program,
    secret,
    slug,
    string,
    url,
)

SERVERS_LIMIT = 50
NAME_LENGTH = 24
"""So that there is room for the name of a tool behind it."""
TIMEOUT_S = 60.0
PATTERNS_LIMIT = 200

_text = All(string, Length(min=1, max=4_096))
_variable = Match(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", msg="expected the name of an environment variable")
_header = Match(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$", msg="expected the name of a header")
_patterns = All([All(string, Length(min=1, max=128))], Length(max=PATTERNS_LIMIT))


def _one_way(server: dict[str, Any]) -> dict[str, Any]:
    """Check that a server is either a program or an address, and that its keys are of that kind."""
    if ("command" in server) is ("url" in server):
        raise SchemaError("expected either command, a program, or url, an address", path=["command"])
    foreign = ("headers", "oauth", "transport") if "command" in server else ("args", "env")
    for key in foreign:
        if key in server:
            raise SchemaError(f"{key} belongs to a server with {'url' if 'command' in server else 'command'}", [key])
    return server


def server_name(value: Any) -> str:
    """Return a server's name, if it is one."""
    name: str = slug(value)
    if len(name) > NAME_LENGTH:
        raise Invalid(f"expected a name of at most {NAME_LENGTH} characters")
    return name


SERVER_SCHEMA = All(
    {
        Optional("command", description="The program that is the server; no shell reads it."): program,
        Optional("args", description="Its arguments."): All([All(string, Length(max=4_096))], Length(max=100)),
        Optional("env", description="Variables it sees, beside PATH, HOME and the like."): {_variable: secret},
        Optional("url", description="Or the server's address; it may be in the local network."): url,
        Optional("headers", description="Headers sent to that address, such as Authorization."): {_header: secret},
        Optional("oauth", description="To sign in there; {} where the server lets the hub register itself."): {
            Optional("client_id", description="The hub's name there, when it cannot register itself."): _text,
            Optional("client_secret", description="Its secret there."): secret,
            Optional("scope", description="What is asked for; else what the server says."): _text,
            Optional("redirect_url", description="Where browsers come back, when not to this machine."): url,
        },
        Optional("transport", description="How to speak to it: http, or sse for older servers."): In(["http", "sse"]),
        Optional("tools", default=dict, description="Which of its tools are offered."): {
            Optional("allow", description="Only these, by its own names; * matches any characters."): _patterns,
            Optional("deny", default=list, description="None of these."): _patterns,
        },
        Optional("enabled", default=True, description="Whether it is used."): boolean,
        Optional("trusted", default=False, description="Whether it is believed what it says its tools do."): boolean,
        Optional("owner_only", default=True, description="Whether its tools are for the owner alone."): boolean,
        Optional("timeout_s", default=TIMEOUT_S, description="Longest wait for an answer."): All(
            positive_seconds, Range(max=3_600)
        ),
    },
    _one_way,
)

CONFIG_SCHEMA = Schema(
    {
        Optional("servers", default=dict, description="Servers by name."): All(
            {server_name: SERVER_SCHEMA}, Length(max=SERVERS_LIMIT)
        ),
        Optional("server", default=dict, description="The hub as a server, for other programs."): {
            Optional("enabled", default=False, description="Whether it is one, at the path /mcp."): boolean,
            Optional(
                "read_only", default=True, description="Whether only tools that change nothing are offered."
            ): boolean,
            Optional("tools", default=lambda: ["*"], description="Which tools; * matches any characters."): _patterns,
        },
    }
)
