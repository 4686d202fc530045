"""Doors: every listener and every secret that lets somebody in here stand under one limiter and one rule."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hub.core.schema import Invalid, own_secret
from hub.core.secret import Secret
from tests.security.test_foreign_parsers import imported, trees_with

THEIRS = {
    "hub/automation/definition/commands.py password": "of the server",
    "hub/automation/definition/commands.py string": "of the server",
    "hub/automation/definition/commands.py url": "of the server",
    "integrations/devices/rest/schema.py resource": "of the server",
    "integrations/devices/rest/schema.py resource_template": "of the server",
    "integrations/devices/rest/schema.py string": "of the server",
    "hub/automation/definition/grammar.py secret": "signs what this hub sends",
    "hub/automation/definition/grammar.py token": "of the program that gets the results",
    "hub/storage/schema.py postgresql": "of the database server",
    "hub/storage/schema.py url": "of the database server",
    "hub/backup/schema.py access_key": "of the storage",
    "hub/backup/schema.py secret_key": "of the storage",
    "hub/backup/schema.py password": "of the WebDAV server",
    "hub/gateway/calls/schema.py password": "ours; the gateway refuses to start with a weak one, and takes its hash",
    "hub/tools/methods/secrets.py value": "kept under a name; where it is used, it is judged",
    "hub/memory/schema.py api_key": "of a provider",
    "hub/models/schema.py api_key": "of a provider",
    "hub/skills/schema.py api_key": "of a provider",
    "hub/skills/schema.py _variable": "of a program",
    "integrations/devices/camera_schema.py password": "of the camera",
    "integrations/devices/esphome/schema.py encryption_key": "of the device",
    "integrations/devices/mpd/schema.py password": "of the player",
    "integrations/channels/discord/schema.py token": "of the platform",
    "integrations/channels/email/schema.py client_secret": "of the provider",
    "integrations/channels/email/schema.py password": "of the mailbox",
    "integrations/channels/email/schema.py refresh_token": "of the provider",
    "integrations/channels/feishu/schema.py app_secret": "of the platform",
    "integrations/channels/dingtalk/schema.py client_secret": "of the platform",
    "integrations/channels/imessage/schema.py password": "of the server",
    "integrations/channels/irc/schema.py password": "of the server",
    "integrations/channels/irc/schema.py sasl_password": "of the services",
    "integrations/channels/line/schema.py access_token": "of the platform",
    "integrations/channels/matrix/schema.py access_token": "of the server",
    "integrations/channels/matrix/schema.py password": "of the server",
    "integrations/channels/mattermost/schema.py token": "of the server",
    "integrations/channels/msteams/schema.py app_password": "of the platform",
    "integrations/channels/nextcloud_talk/schema.py app_password": "of the Nextcloud",
    "integrations/channels/google_chat/schema.py service_account": "of Google",
    "integrations/channels/qq/schema.py app_secret": "of the platform",
    "integrations/channels/ntfy/schema.py button_token": "of the server",
    "integrations/channels/ntfy/schema.py password": "of the server",
    "integrations/channels/ntfy/schema.py token": "of the server",
    "integrations/channels/ntfy/schema.py topic": "a name of a topic, which the server judges",
    "integrations/channels/ntfy/schema.py topics": "names of topics, which the server judges",
    "integrations/channels/slack/schema.py app_token": "of the platform",
    "integrations/channels/xmpp/schema.py password": "of the platform",
    "integrations/channels/slack/schema.py bot_token": "of the platform",
    "integrations/channels/wecom/schema.py secret": "of the platform",
    "integrations/channels/whatsapp/schema.py access_token": "of the platform",
    "integrations/channels/zalo/schema.py token": "of the platform",
    "integrations/channels/zalo_oa/schema.py app_secret": "of the platform",
    "integrations/channels/zalo_oa/schema.py refresh_token": "of the platform",
    "integrations/devices/home_assistant/schema.py token": "of Home Assistant",
    "integrations/devices/mqtt/schema.py password": "of another broker; of the embedded one, the section judges it",
    "integrations/memory/chroma/schema.py token": "of the server",
    "integrations/models/acp/schema.py _variable": "of a program",
    "integrations/network/telemetry/schema.py _header": "of the collector",
    "integrations/tools/apprise/schema.py slug": "of the services",
    "integrations/tools/calendar/schema.py password": "of the calendar's server",
    "integrations/tools/calendar/schema.py url": "of the calendar's server",
    "integrations/tools/mcp/schema.py _variable": "of a program",
    "integrations/tools/mcp/schema.py _header": "of the server",
    "integrations/tools/mcp/schema.py client_secret": "of the server",
    "integrations/tools/web_search/schema.py api_key": "of a provider",
    "web/chat/approvals_page.py value": "kept under a name; where it is used, it is judged",
}
"""Secrets that others judge, each with whose it is; all that this hub judges are `own_secret`."""

LISTENERS = {
    "hub/worker.py": "metrics at the address that is named; the front door's guesses are counted by each home's hub",
    "hub/gateway/connection/listeners.py": "limiter: hub/gateway/access/auth.py",
    "hub/gateway/access/unix_socket.py": "a file that the hub's user alone opens",
    "hub/models/sign_in.py": "loopback while somebody signs in; takes a state of 256 bits",
    "hub/sandbox/listen_inside.py": "inside a sandbox, without a network",
    "hub/sandbox/network.py": "the far end of that",
    "integrations/devices/mqtt/broker.py": "limiter: integrations/devices/mqtt/broker.py",
    "integrations/devices/wyoming/server.py": "the protocol has no passwords; takes named addresses alone",
    "integrations/tools/browser/cdp_socket.py": "loopback; takes a token of 256 bits that is made for each use",
    "integrations/tools/browser/socks_proxy.py": "loopback; takes processes of our own browser alone",
    "integrations/tools/canvas/origin.py": "takes tokens of 256 bits that end by themselves",
}
"""Files that open a socket for others: which limiter counts guesses there, or why there is nothing to guess."""

_OPENS = ("start_server", "start_unix_server", "create_server", "TCPSite", "UnixSite", "SockSite", "bind")


@cache
def plain_secrets() -> set[str]:
    """Return each use of `secret` in a schema: the file, and its key."""
    found = set()
    for path, tree in trees_with(["secret"]):
        if ("hub.core.schema.secret", "secret") not in set(imported(tree)):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if any(isinstance(each, ast.Name) and each.id == "secret" for each in _validators(value)):
                        found.add(f"{path} {_name(key)}")
    return found


def _validators(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.Call):
        for each in value.args:
            yield from _validators(each)
    elif not isinstance(value, ast.Dict):
        yield value


def _name(key: ast.expr | None) -> str:
    if isinstance(key, ast.Call) and isinstance(key.args[0], ast.Constant):
        return str(key.args[0].value)
    return ast.unparse(key) if key is not None else "**"


def test_each_secret_is_judged_here_or_belongs_to_others() -> None:
    assert plain_secrets() - THEIRS.keys() == set()
    assert THEIRS.keys() - plain_secrets() == set()


@pytest.mark.parametrize("weak", ["x", "", "changeme123", "aaaaaaaaaaaaaaaaaaaa", "password2026", "         "])
def test_what_can_be_guessed_is_no_secret_of_ours(weak: str) -> None:
    with pytest.raises(Invalid):
        own_secret()(Secret(weak))
    assert own_secret()("correct horse battery").reveal() == "correct horse battery"


def listening() -> set[str]:
    """Return the files that open a socket for others."""
    found = set()
    for path, tree in trees_with(_OPENS):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of = ast.unparse(node.func.value)
            sockets = of in ("asyncio", "socket", "web", "loop") or "sock" in of or of in ("made", "probe")
            if node.func.attr in _OPENS and sockets:
                found.add(path)
    return found


LOOKED = {
    "hub/gateway/doctor.py": "looks whether a port is free",
    "hub/gateway/access/start_check.py": "looks whether a port is free",
    "hub/testing.py": "looks whether a port is free, for a test",
}


def test_each_listener_counts_guesses_or_has_nothing_to_guess() -> None:
    assert listening() - LISTENERS.keys() - LOOKED.keys() == set()
    assert {*LISTENERS, *LOOKED} - listening() == set()
    for path, reason in LISTENERS.items():
        if reason.startswith("limiter: "):
            counted = Path(__file__).parents[2] / reason.removeprefix("limiter: ")
            assert ".reserve(" in counted.read_text(), path
