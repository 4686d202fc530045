"""The hub knows no integration by name: no string in hub/ is the domain of one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from hub.integration.catalog import find

HUB = Path(__file__).parents[1] / "hub"
WORDS = frozenset(
    {"files", "home", "line", "media", "message", "notes", "schedule", "sessions", "speech", "template", "voice"}
)
"""Domains that are ordinary words of the hub too: keys of answers, groups of tools."""
OTHER_MEANINGS = frozenset(
    {
        ("agent/workspace/workspace.py", "canvas"),  # a folder of workspaces
        ("cli/completion.py", "shell"),  # bash, zsh or fish
        ("cli/openclaw_names.py", "canvas"),  # a command of OpenClaw's
        ("core/weak_secrets.py", "demo"),  # a password that everybody guesses
        ("automation/definition/kinds.py", "calendar"),  # a trigger
        ("automation/triggers/calendar.py", "calendar"),  # the same
        ("core/events.py", "rest"),  # what is left over
        ("config/labels.py", "rest"),  # a section of Home Assistant that is a list
        ("entities/domains.py", "calendar"),  # a domain of entities
        ("integration/manifest.py", "mqtt"),  # a key of manifests, as Home Assistant has it
        ("models/vendors.py", "litellm"),  # the name of an API
        ("models/vendors.py", "offline"),  # the name of an API and of the provider that speaks it
        ("models/selection.py", "offline"),  # a reason shown to people
        ("messaging/outbox/markup.py", "discord"),  # a flavour of text
        ("gateway/connection/connection.py", "webchat"),  # a client mode of the wire protocol
        ("security/webhook_signature.py", "generic"),  # the form of most signatures
        ("sandbox/settings.py", "code_run"),  # the name of a tool
        ("sandbox/settings.py", "browser"),  # a scope of sandboxes
        ("nodes/services.py", "mobile_app"),  # a domain of services, as Home Assistant names it
        ("sandbox/schema.py", "docker"),  # a key of an agent's configuration
        ("sandbox/schema.py", "bubblewrap"),  # another
        ("sandbox/cli.py", "docker"),  # the name of a program
        ("nodes/offered_tools.py", "mcp"),  # a key of the wire protocol
        ("messaging/outbox/markup.py", "irc"),  # a flavour of markup
        ("doctor/audit/audit_context.py", "shell"),  # a group of tools
        ("timeline/hub_sources.py", "shell"),  # a key of what an approval is about
        ("messaging/outbox/markup.py", "whatsapp"),  # a flavour of markup
        ("voice/authority.py", "calendar"),  # a tool
        ("voice/authority.py", "calculator"),  # another
        ("gateway/component/clients.py", "speech"),  # the section that names the model that speaks, in talks too
        ("voice/component.py", "speech"),  # the same, for satellites
        ("voice/sound.py", "ffmpeg"),  # the name of a program
        ("nodes/cli/node.py", "imessage"),  # what a node offers, and its option
    }
)


OF_OTHERS = "migrate/"
"""The folder that knows the words of the programs that one moves in from, which are those of integrations too."""


def named(root: Path, domains: frozenset[str]) -> set[tuple[str, str]]:
    """Return each file below `root` with a domain that one of its string literals is."""
    texts = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    a_domain = re.compile("|".join(map(re.escape, domains)))
    return {
        (path.relative_to(root).as_posix(), node.value)
        for path, text in texts.items()
        if a_domain.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in domains
    }


def test_no_string_of_the_hub_is_the_domain_of_an_integration() -> None:
    found = named(HUB, frozenset(find(None)) - WORDS) - OTHER_MEANINGS
    assert {(path, word) for path, word in found if not path.startswith(OF_OTHERS)} == set()


def test_a_domain_in_a_string_is_found(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("CHANNEL = 'webchat'\n")

    assert named(tmp_path, frozenset({"webchat"})) == {("bad.py", "webchat")}
