"""Checks of the security audit: which MCP servers are believed, and what the hub offers as one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot

RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "docker", "podman"})
"""Programs that fetch a server from the internet when it starts."""
_PINNED = re.compile(r"[@=:]{1,2}v?\d+(\.\d+)+|@sha256:[0-9a-f]{16,}")


def _trusted(context: AuditContext) -> Iterator[Spot]:
    for name, server in context.section("mcp").get("servers", {}).items():
        if server["enabled"] and server["trusted"]:
            keys = context.written(("mcp", "servers", name, "trusted"))
            what = phrase("The MCP server {name} is believed what it says its tools do", name=name)
            yield Spot(what, keys, edits={keys: False})


def _for_everybody(context: AuditContext) -> Iterator[Spot]:
    for name, server in context.section("mcp").get("servers", {}).items():
        if server["enabled"] and not server["owner_only"]:
            keys = context.written(("mcp", "servers", name, "owner_only"))
            what = phrase("Others than the owner may use the tools of the MCP server {name}", name=name)
            open_too = context.open_to_strangers and context.section("tools").get("strangers", "minimal") == "full"
            yield Spot(what, keys, severity=None if open_too else AuditSeverity.WARNING, edits={keys: True})


def _unpinned(context: AuditContext) -> Iterator[Spot]:
    for name, server in context.section("mcp").get("servers", {}).items():
        if not server["enabled"] or server.get("command", "").rpartition("/")[2] not in RUNNERS:
            continue
        if not any(_PINNED.search(each) for each in server.get("args", ())):
            keys = context.written(("mcp", "servers", name, "args"))
            what = phrase("The MCP server {name} is whatever version the internet has when it starts", name=name)
            yield Spot(what, keys)


def _offers_writing(context: AuditContext) -> Iterator[Spot]:
    server = context.section("mcp").get("server") or {}
    if server.get("enabled") and not server["read_only"]:
        keys = ("mcp", "server", "read_only")
        yield Spot(phrase("Programs of others may change things by the hub's MCP server"), keys, edits={keys: True})


AUDIT = (
    AuditCheck(
        "mcp.for_everybody",
        AuditSeverity.CRITICAL,
        phrase("Who may use the tools of MCP servers"),
        phrase("What the server can do, files and accounts included, people in your chats can have done."),
        phrase("Keep its tools for the owner, or allow the few that others need."),
        _for_everybody,
    ),
    AuditCheck(
        "mcp.trusted",
        AuditSeverity.WARNING,
        phrase("Which MCP servers are believed"),
        phrase("A tool that says it only reads is not asked about, also when a new version of it does more."),
        phrase("Believe the servers alone that you wrote or looked through yourself."),
        _trusted,
    ),
    AuditCheck(
        "mcp.unpinned",
        AuditSeverity.WARNING,
        phrase("Which versions of MCP servers run"),
        phrase("If its author is robbed of the account, a changed program runs on your machine at the next start."),
        phrase("Name the version that you looked at, such as name@1.2.3."),
        _unpinned,
    ),
    AuditCheck(
        "mcp.offers_writing",
        AuditSeverity.WARNING,
        phrase("What the hub offers as an MCP server"),
        phrase("A program that has a token, or a model in it that was talked into something, acts in your home."),
        phrase("Offer the tools alone that only read, or name those that are needed."),
        _offers_writing,
    ),
)
