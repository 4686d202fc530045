"""`homarus channels`: accounts are added with a live test, listed, given new credentials and removed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.homes import make_home
from tests.servers.hub_process import HubProcess
from tests.servers.ngircd import Ngircd
from tests.servers.twilio_server import PUBLIC_URL, SID, TOKEN, TwilioServer

MESSAGING_SERVICE = f"MG{'1' * 32}"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    home = make_home(
        tmp_path_factory.mktemp("ferry") / "home",
        "# mine\nhub: {name: Pier}\npeople: [{id: cap, owner: true, identities: [ferry:user:cap]}]\n",
        own=("ferry",),
    )
    with HubProcess(home) as process:
        yield process


@pytest.fixture(autouse=True)
def _no_ferry(hub: HubProcess) -> Iterator[None]:
    """Each test begins without an account."""
    yield
    for each in hub.rpc("channels.status")["channelAccounts"].get("ferry", []):
        hub.rpc("channels.remove", {"channel": "ferry", "account": each["accountId"]})


def files(hub: HubProcess) -> tuple[str, str]:
    """The configuration and the secrets."""
    secrets = hub.home / "secrets.yaml"
    return (hub.home / "configuration.yaml").read_text(), secrets.read_text() if secrets.exists() else ""


def test_an_account_that_works_is_kept_with_its_secret_apart(hub: HubProcess, ask: Terminal) -> None:
    added = ask("channels", "add", "ferry", "--set", "token=good1", "--set", "pier=north")

    assert added.out.startswith("ferry (default) is connected as The ferry.\nNow write to it")
    configuration, secrets = files(hub)
    assert configuration.startswith("# mine\n")
    assert "token: !secret ferry_token" in configuration
    assert "pier: north" in configuration
    assert "ferry_token: good1" in secrets


def test_a_page_for_guests_says_where_it_is(hub: HubProcess, ask: Terminal) -> None:
    added = ask("channels", "add", "webchat_page", "--account", "hall")
    status = ask("channels", "status", "webchat_page")
    hub.rpc("channels.remove", {"channel": "webchat_page", "account": "hall"})

    page = f"{hub.url}/webchat/hall"
    told, _, code = added.out.partition(f"Its page is {page}\n")
    assert told.startswith("webchat_page (hall) is connected")
    assert len(code.splitlines()) > 10
    assert page in status.out


@pytest.mark.parametrize(("typed", "code", "told"), [("", 2, "Give it with --set token=VALUE."), ("good1\n", 0, "")])
def test_without_a_terminal_a_secret_is_a_line_of_the_input_or_named(
    hub: HubProcess, typed: str, code: int, told: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hub", "channels", "add", "ferry", "--config", str(hub.home)],
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, told in ran.stderr) == (code, True), ran.stderr
    assert "Warning" not in ran.stderr


async def test_a_way_is_chosen_and_then_only_its_fields_are_asked_for(hub: HubProcess) -> None:
    answers = ["2", SID, TOKEN, PUBLIC_URL, MESSAGING_SERVICE, ""]

    async with TwilioServer() as twilio:
        ran = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hub", "channels", "add", "sms", "--config", str(hub.home)),
            *("--set", f"api_root={twilio.url}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await ran.communicate("".join(f"{each}\n" for each in answers).encode())
        configuration = files(hub)[0]
        await asyncio.to_thread(hub.rpc, "channels.remove", {"channel": "sms", "account": "default"})

    assert (ran.returncode, err.decode()) == (0, "")
    steps, _, asked = out.decode().partition("\n\n")
    assert steps.endswith("docs/channels/sms.md")
    assert asked.startswith("There are several ways:\n  1  a number\n  2  a messaging service\n")
    assert f"messaging_service_sid: {MESSAGING_SERVICE}" in configuration
    assert "number:" not in configuration


@pytest.mark.parametrize(
    ("channel", "given", "told"),
    [
        ("sms", ("numbr=+4915700000001",), "sms has no field 'numbr'. Did you mean number?"),
        ("sms", ("number=+4915700000001", "messaging_service_sid=MG1"), "Only one of these can be set: number"),
        ("imessage", ("node=Mac", "webhook_url=http://192.0.2.1"), "node (the Mac itself, with homarus node)"),
        ("telegram", ("token",), "--set takes FIELD=VALUE"),
    ],
)
def test_what_cannot_be_set_is_refused_before_anything_is_asked(
    ask: Terminal, channel: str, given: tuple[str, ...], told: str
) -> None:
    failed = ask("channels", "add", channel, *(word for each in given for word in ("--set", each)))

    assert (failed.code, failed.out) == (2, "")
    assert told in failed.err


def test_what_is_typed_is_kept_as_its_field_wants_it(hub: HubProcess, ask: Terminal) -> None:
    given = ["host=127.0.0.1", "tls=false", "nick=homarus", "channels=#home, #hall", "password=", "sasl_password="]
    with Ngircd() as server:
        added = ask("channels", "add", "irc", *(f"--set={each}" for each in (*given, f"port={server.port}")))
        configuration = files(hub)[0]
        hub.rpc("channels.remove", {"channel": "irc", "account": "default"})

    assert added.out.startswith("irc (default) is connected")
    assert f"    port: {server.port}\n" in configuration
    assert "    tls: false\n" in configuration
    assert '    channels:\n      - "#home"\n      - "#hall"\n' in configuration


def test_several_accounts_are_listed_each_with_its_state(hub: HubProcess, ask: Terminal) -> None:
    for name in ("default", "work"):
        ask("channels", "add", "ferry", "--account", name, "--set", f"token=good-{name}")

    listed = json.loads(ask("channels", "list", "--json").out)
    status = ask("channels", "status", "ferry", "--json")

    assert [(each["accountId"], each["state"]) for each in listed["accounts"]] == [
        ("default", "connected"),
        ("work", "connected"),
    ]
    assert "ferry" in listed["available"]
    assert [each["platformAccountId"] for each in json.loads(status.out)] == ["bot-good-default", "bot-good-work"]
    assert status.code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("token=bad",), "the token was refused"),
        (("token=good", "dm_policy=x"), "ferry: dm_policy: expected "),
        (("token=good", "peer=north"), "Did you mean pier"),
        (("pier=north", "token="), "token is missing"),
        (("token=good", "dm_policy=everybody"), "dm_policy"),
    ],
)
def test_what_does_not_work_leaves_the_files_as_they_were(
    hub: HubProcess, ask: Terminal, given: tuple[str, ...], told: str
) -> None:
    before = files(hub)

    failed = ask("channels", "add", "ferry", *(word for each in given for word in ("--set", each)))

    assert failed.code != 0
    assert told.casefold() in failed.err.casefold()
    assert files(hub) == before
    assert json.loads(ask("channels", "list", "--json").out)["accounts"] == []


def test_a_name_is_taken_once(ask: Terminal) -> None:
    ask("channels", "add", "ferry", "--set", "token=good")

    again = ask("channels", "add", "ferry", "--set", "token=good")

    assert again.code != 0
    assert "has an account default already" in again.err


def test_an_account_gets_new_credentials_and_keeps_the_old_ones_when_they_are_refused(
    hub: HubProcess, ask: Terminal
) -> None:
    ask("channels", "add", "ferry", "--set", "token=good1")

    refused = ask("channels", "login", "ferry", "--set", "token=bad")
    kept = hub.rpc("channels.status")["channelAccounts"]["ferry"][0]["platformAccountId"]
    changed = ask("channels", "login", "ferry", "--set", "token=good2")

    assert "the token was refused" in refused.err
    assert kept == "bot-good1"
    assert changed.code == 0
    assert hub.rpc("channels.status")["channelAccounts"]["ferry"][0]["platformAccountId"] == "bot-good2"


def test_platforms_are_asked(ask: Terminal) -> None:
    ask("channels", "add", "ferry", "--set", "token=good7")

    probed, tried = ask("channels", "probe"), ask("channels", "test", "ferry")

    assert "reached" in probed.out
    assert (probed.code, tried.code, tried.out) == (0, 0, "ok: True\nas: 7\nrights: It may land.\n")


def test_an_audit_says_what_accounts_may_and_where_an_owner_is_reached(hub: HubProcess, ask: Terminal) -> None:
    ask("channels", "add", "ferry", "--set", "token=good7")

    nowhere = ask("channels", "audit")
    assert (nowhere.code, nowhere.out.splitlines()[:2]) == (
        1,
        ["ferry (default) as The ferry", "  has    It may land."],
    )
    assert "Nowhere: no owner has written in a direct chat" in nowhere.out

    hub.rpc("service.call", {"service": "ferry.land", "data": {"who": "cap", "text": "hello", "id": "audit"}})
    reached = ask("channels", "audit", "ferry", "--json")
    assert (reached.code, reached.json["ownerPlace"]["to"]) == (0, "cap")


def test_an_account_that_is_removed_is_logged_out(hub: HubProcess, ask: Terminal) -> None:
    ask("channels", "add", "ferry", "--set", "token=good")

    ask("channels", "remove", "ferry")

    assert "\nferry:" not in files(hub)[0]
    assert ask("channels", "status").out.startswith("No account is configured")


def test_an_unknown_channel_is_answered_with_those_there_are(ask: Terminal) -> None:
    failed = ask("channels", "add", "fery")

    assert failed.code == 2
    assert "did you mean ferry?" in failed.err.casefold()
