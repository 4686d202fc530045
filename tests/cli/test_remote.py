"""`homarus --url … --token …`: a hub elsewhere, asked by every command that asks a hub."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.cli.exits import CommandFailed, Exit
from hub.cli.hub_link import HubLink
from hub.cli.remote import remote_home
from hub.gateway.access.local_ca import fingerprint
from tests.cli.terminal import Terminal
from tests.gateway.certificates import certificate
from tests.gateway.house import living
from tests.servers.openai_server import OpenAIServer

NOWHERE = ("--url", "ws://127.0.0.1:1", "--token", "abc")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("--url", "wss://hub.example.org", "status"), Exit.NOT_AUTHORISED, "HOMARUS_TOKEN"),
        (("--url", "ws://hub.example.org", "--token", "a", "status"), Exit.USAGE, "in clear"),
        (("--url", "http://10.0.0.7", "--token", "a", "status"), Exit.USAGE, "in clear"),
        (("--url", "ftp://hub.example.org", "--token", "a", "status"), Exit.USAGE, "wss://hub.example.org"),
        (("--url", "wss://hub:none", "--token", "a", "status"), Exit.USAGE, "expected the address"),
        (("--url", "wss://hub", "--token", "a\nb", "status"), Exit.USAGE, "not a token"),
        (("--url", "wss://hub", "--token", "a", "--fingerprint", "12", "status"), Exit.USAGE, "64 hexadecimal digits"),
        ((*NOWHERE, "--fingerprint", "ab" * 32, "status"), Exit.USAGE, "has no certificate"),
        ((*NOWHERE, "status"), Exit.NOT_REACHABLE, "ws://127.0.0.1:1 cannot be reached"),
        *(
            ((*NOWHERE, *command), Exit.USAGE, "works with the hub's own files")
            for command in (("token",), ("start",), ("check",), ("init", "--yes"), ("config", "get", "models"))
        ),
    ],
)
def test_what_cannot_be_asked_elsewhere_says_why(
    type_: Terminal, arguments: tuple[str, ...], code: Exit, word: str
) -> None:
    ran = type_(*arguments)

    assert ran.code == code
    assert word in ran.err


async def test_a_hub_elsewhere_answers_within_the_rights_of_the_token(
    type_: Terminal, tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.set_default("Hello from elsewhere.")
    async with living(tmp_path / "elsewhere", openai_server) as house:
        _, token = await house.tokens.create("laptop", ["operator.write"])
        monkeypatch.setenv("HOMARUS_TOKEN", token.reveal())
        url = ("--url", house.url.replace("http", "ws"))

        said = await asyncio.to_thread(type_, *url, "chat", "hello")
        listed = await asyncio.to_thread(type_, *url, "sessions", "list", "--json")
        refused = await asyncio.to_thread(type_, *url, "token", "list")
        here = await asyncio.to_thread(type_, *url, "status", "--config", str(type_.home))

    assert (said.code, said.out) == (0, "Hello from elsewhere.\n")
    assert listed.code == 0
    assert refused.code == Exit.NOT_AUTHORISED
    assert "No hub runs on" in here.err


async def test_a_pinned_certificate_needs_nobody_to_vouch_for_it_and_another_gets_nothing(
    type_: Terminal, tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, key = certificate(tmp_path)
    tls = {"certificate": str(pem), "key": str(key)}
    async with living(tmp_path / "elsewhere", openai_server, http={"port": 0, "tls": tls}) as house:
        _, token = await house.tokens.create("laptop", ["operator.write"])
        (tmp_path / "token").write_text(token.reveal())
        monkeypatch.setenv("HOMARUS_TOKEN_FILE", str(tmp_path / "token"))
        url, pin = house.url.replace("https", "wss"), fingerprint(pem)
        to_hub = ("--url", url, "--fingerprint")

        unknown = await asyncio.to_thread(type_, "--url", url, "sessions", "list")
        pinned = await asyncio.to_thread(type_, *to_hub, pin.upper(), "sessions", "list")
        another = await asyncio.to_thread(type_, *to_hub, pin[::-1], "sessions", "list")
        link = HubLink(remote_home(url, None, pin) or tmp_path)
        await link.open()
        await link.close()
        with pytest.raises(CommandFailed, match="another fingerprint"):
            await HubLink(remote_home(url, None, pin[::-1]) or tmp_path).open()

    assert "certificate verify failed" in unknown.err
    assert pinned.code == 0, pinned.err
    assert another.code == Exit.NOT_REACHABLE
    assert f"another fingerprint than --fingerprint: {pin}" in another.err
