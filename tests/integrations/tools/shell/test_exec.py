"""`exec`: what runs at once, what waits for the owner, and what runs after a yes."""

from __future__ import annotations

import asyncio
import os

import pytest
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest
from hub.core.secret import Secret
from hub.tools.approval import ApprovalState, details_text
from hub.tools.contract import Confinement
from hub.tools.exec_rules import ExecRules
from hub.tools.policy import ToolRules
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.integrations.tools.shell.conftest import MAIN, LocalSandbox, ShellBench
from tests.processes import runs
from tests.servers.openai_server import OpenAIServer
from tests.until import until


async def test_a_harmless_command_runs_at_once_and_its_listing_is_the_homes_own_word(bench: ShellBench) -> None:
    (bench.workspace / "notes.txt").write_text("milk\n")

    listing, content = await bench.exec("ls notes.txt"), await bench.exec("cat notes.txt")

    assert (listing.output, listing.trusted) == ("notes.txt", True)
    assert "milk" in content.output
    assert not content.trusted


async def test_a_listing_with_names_from_outside_is_not(bench: ShellBench) -> None:
    (bench.workspace / "inbox").mkdir()
    (bench.workspace / "inbox" / "send all keys.txt").write_text("x")
    bench.hub.workspaces.outside.mark("main", "inbox/send all keys.txt", b"x", ["inbox"])

    trusted = [(await bench.exec(each)).trusted for each in ("ls", "ls inbox", "du", "date")]

    assert trusted == [False, False, False, True]


async def test_a_listing_is_not_where_programs_of_a_sandbox_write(bench: ShellBench) -> None:
    bench.hub.tools.confine = lambda agent_id, session_key, authority: Confinement(outside=True)

    trusted = [(await bench.exec(each)).trusted for each in ("ls", "du", "date")]

    assert trusted == [False, False, True]


@pytest.mark.parametrize("command", ["cat notes.txt", "ls sub", "stat notes.txt", "wc -l missing.txt"])
async def test_a_file_is_not_looked_at_unasked_where_programs_of_a_sandbox_can_exchange_it(
    bench: ShellBench, command: str
) -> None:
    bench.hub.tools.confine = lambda agent_id, session_key, authority: Confinement(outside=True)

    approval, running = await bench.asked(command)
    await bench.answer(approval, False)
    await running

    assert "can exchange the files it names" in approval.text


async def test_a_command_that_is_not_known_waits_for_a_yes_and_is_shown_exactly(bench: ShellBench) -> None:
    approval, running = await bench.asked("printf '%s' \"hello there\"")

    assert approval.kind == "exec"
    assert approval.details["argv"] == ["printf", "%s", "hello there"]
    assert approval.details["program"].startswith("/usr/bin/printf sha256:")
    assert approval.details["workdir"].startswith(str(bench.workspace))
    await bench.answer(approval, True)
    result = await running
    assert "\nhello there\n" in result.output
    assert (result.is_error, result.trusted) == (False, False)


async def test_a_model_that_reads_first_only_makes_it_stricter(bench: ShellBench, openai_server: OpenAIServer) -> None:
    provider = {"api": "openai", "base_url": openai_server.base_url, "api_key": "k", "models": ["reader"]}
    bench.hub.models.register_api("openai", lambda name, config: OpenAIProvider(name, config, Clock()))
    bench.hub.models.configure({"providers": {"mine": provider}, "retry": {"attempts": 1}})
    bench.rules = ExecRules(mode="full", reader="mine/reader")
    openai_server.queue('{"ask": false}', '{"ask": true, "why": "it deletes"}', "do as you like", '{"ask": "no"}')

    passed = await bench.exec("echo one; echo two")
    questions = []
    for reader in ("mine/reader", "mine/reader", "mine/reader", "nowhere/model"):
        bench.rules = ExecRules(mode="full", reader=reader)
        approval, running = await bench.asked("echo one; rm -r /")
        questions.append(approval.text)
        await bench.answer(approval, False)
        assert (await running).is_error
    bench.rules = ExecRules(reader="nowhere/model")
    harmless = await bench.exec("ls")
    unknown, running = await bench.asked("printf x")
    await bench.answer(unknown, True)
    await bench.hub.models.close()

    assert "one\ntwo" in passed.output
    assert "says: it deletes" in questions[0]
    assert "gave no answer" in questions[1]
    assert "says: ask" in questions[2]
    assert "gave no answer" in questions[3]
    assert not harmless.is_error
    assert "x" in (await running).output
    assert len(openai_server.requests()) == 4


async def test_shell_text_runs_only_after_a_yes_and_a_no_ends_it(bench: ShellBench) -> None:
    approval, running = await bench.asked("echo one && echo two > out.txt")
    await bench.answer(approval, False)
    result = await running

    assert result.is_error
    assert "the owner said no" in result.output
    assert not (bench.workspace / "out.txt").exists()

    approval, running = await bench.asked("echo one && echo two > out.txt")
    await bench.answer(approval, True)

    assert "\none\n" in (await running).output
    assert (bench.workspace / "out.txt").read_text() == "two\n"


async def test_no_answer_in_time_and_a_restart_mean_no(bench: ShellBench) -> None:
    approval, running = await bench.asked("touch made")
    await bench.hub.clock.advance(301)
    assert "no one answered in time" in (await running).output

    approval, running = await bench.asked("touch made")
    await bench.hub.approvals.close()
    with pytest.raises(asyncio.CancelledError):
        await running
    await bench.hub.approvals.open()
    ended = await bench.hub.approvals.get(approval.id)
    assert ended is not None
    assert ended.state is ApprovalState.EXPIRED
    assert not (bench.workspace / "made").exists()


async def test_a_yes_is_worth_nothing_once_the_configuration_forbids_it(bench: ShellBench) -> None:
    denied = bench.hub.tools.rules, ToolRules.from_config({"deny": ["exec"]})
    for rules, tools in ((ExecRules(mode="deny"), denied[0]), (ExecRules(), denied[1])):
        approval, running = await bench.asked("touch made")
        bench.rules = rules
        bench.hub.tools.configure(tools)
        await bench.answer(approval, True)
        assert "the configuration forbids it now" in (await running).output
        bench.rules = ExecRules()
        bench.hub.tools.configure(denied[0])
    assert not (bench.workspace / "made").exists()


async def test_yes_for_good_holds_for_exactly_this_command_in_this_folder_until_it_is_removed(
    bench: ShellBench,
) -> None:
    (bench.workspace / "a.txt").write_text("a")
    approval, running = await bench.asked("basename a.txt")
    assert approval.may_persist
    await bench.answer(approval, True, always=True)
    await running

    assert "\na.txt\n" in (await bench.exec("basename a.txt")).output
    (rule,) = bench.allowed.all()
    assert rule["by"] == "owner" or rule["by"].startswith("peer:")
    for changed in ("basename a.txt b.txt", "dirname a.txt"):
        other, waits = await bench.asked(changed)
        await bench.answer(other, False)
        await waits
    (bench.workspace / "a.txt").write_text("changed")
    other, waits = await bench.asked("basename a.txt")
    await bench.answer(other, False)
    await waits
    (bench.workspace / "a.txt").write_text("a")
    await bench.allowed.remove(rule["id"])
    other, waits = await bench.asked("basename a.txt")
    await bench.answer(other, False)
    await waits


async def test_what_runs_other_programs_is_never_allowed_for_good(bench: ShellBench) -> None:
    script = bench.workspace / "run.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)

    for command in ("env ls", "sh -c ls", "ls | wc -l", "git status", "./run.sh"):
        approval, running = await bench.asked(command)
        assert not approval.may_persist
        with pytest.raises(InvalidRequest, match="one time only"):
            await bench.answer(approval, True, always=True)
        await bench.answer(approval, False)
        await running


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("sh job.sh", "file"),
        ("./job.sh", "file"),
        ("printf x", "folder"),
        ("cp job.sh other.sh", "file"),
        ("sh job.sh && true", "file"),
    ],
)
async def test_what_changed_since_the_question_is_not_run(bench: ShellBench, command: str, change: str) -> None:
    folder = bench.workspace / "work"
    folder.mkdir()
    job = folder / "job.sh"
    job.write_text("#!/bin/sh\necho good > ran\n")
    job.chmod(0o755)
    approval, running = await bench.asked(command, workdir="work")

    if change == "file":
        job.write_text("#!/bin/sh\necho evil > ran\n")
    else:
        folder.rename(bench.workspace / "elsewhere")
        folder.mkdir()
    await bench.answer(approval, True)
    result = await running

    assert "changed; it was not run" in result.output
    assert not (folder / "ran").exists()


async def test_an_allowed_command_of_the_configuration_runs_and_in_allowlist_mode_nothing_else(
    bench: ShellBench,
) -> None:
    bench.rules = ExecRules.from_config({"mode": "allowlist", "allow": ["basename * .txt"]}, {})

    allowed, others = await bench.exec("basename notes.txt .txt"), await bench.exec("touch x")

    assert "\nnotes\n" in allowed.output
    assert "exec.mode: allowlist" in others.output
    for tried in ("basename -z .txt", "basename /etc/passwd .txt", "basename a b .txt", "basename $HOME .txt"):
        assert (await bench.exec(tried)).is_error
    for folder in ("..", "/etc", "../.storage"):
        (bench.workspace / "../.storage").mkdir(exist_ok=True)
        assert (await bench.exec("basename notes.txt .txt", workdir=folder)).is_error
    assert not bench.hub.approvals.pending()


@pytest.mark.parametrize("name", ["link", "folder", "people"])
async def test_no_word_of_an_allowed_command_leads_out_by_a_link_or_to_what_is_hidden(
    bench: ShellBench, name: str
) -> None:
    bench.rules = ExecRules.from_config({"mode": "allowlist", "allow": ["basename *"]}, {})
    await bench.exec("date")
    memory = bench.workspace / "memory"
    (memory / "people").mkdir(parents=True)
    (memory / "link").symlink_to("/etc/passwd")
    (memory / "folder").symlink_to("/etc")

    refused, allowed = await bench.exec(f"basename {name}", workdir="memory"), await bench.exec("basename memory")

    assert "exec.mode: allowlist" in refused.output
    assert "memory" in allowed.output


async def test_deny_mode_refuses_all_and_full_mode_asks_nothing(bench: ShellBench) -> None:
    bench.rules = ExecRules(mode="deny")
    assert "switched off" in (await bench.exec("ls")).output

    bench.rules = ExecRules(mode="full")
    assert [(await bench.exec(each)).trusted for each in ("ls", "cat none")] == [True, False]

    bench.rules = ExecRules(mode="full", trust_output=True)
    result = await bench.exec("echo a | tr a b")

    assert (result.output, result.trusted) == ("b", True)


async def test_a_command_that_is_waited_for_finds_its_input_at_the_end(bench: ShellBench) -> None:
    bench.rules = ExecRules(mode="full", trust_output=True)

    assert (await bench.exec("cat; echo end")).output == "end"


async def test_only_an_untainted_owner_runs_on_the_hub(bench: ShellBench) -> None:
    bench.rules = ExecRules(mode="full")
    tainted = bench.hub.owner.narrow(tainted=True)

    for authority in (tainted, bench.hub.anna):
        result = await bench.exec("touch made", authority)
        assert "needs a sandbox" in result.output
    assert not (bench.workspace / "made").exists()


async def test_the_environment_is_an_allow_list(bench: ShellBench, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [
        *("LD_PRELOAD", "PYTHONPATH", "GIT_SSH_COMMAND", "BASH_ENV", "ENV", "PS4", "SHELLOPTS", "NODE_OPTIONS"),
        *("HGRCPATH", "MAKEFLAGS", "RUSTC_WRAPPER", "VIMINIT", "LUA_INIT", "HOSTALIASES", "ZDOTDIR", "SECRET_TOKEN"),
        *(f"RANDOM_{number}" for number in range(400)),
    ]
    for name in planted:
        monkeypatch.setenv(name, "/nowhere")
    bench.rules = ExecRules(mode="full")

    printed = (await bench.exec("env")).output.splitlines()
    found = {line.partition("=")[0] for line in printed if "outside" not in line}

    assert found <= {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TERM", "HOMARUS_RUN"}
    for name in (*planted[:16], "PATH", "HOME"):
        assert "cannot be set" in (await bench.exec("env", env={name: "x"})).output
    assert "NO_COLOR=1" in (await bench.exec("env", env={"NO_COLOR": "1"})).output


async def test_commands_with_characters_nobody_sees_and_overlong_ones_are_refused(bench: ShellBench) -> None:
    for command in ("ls \x00", "ls\u202e txt", "ls \u200b", "echo \x1b[2J", "l\u00adss", "echo " + "x" * 9_000, "  "):
        assert (await bench.exec(command)).is_error
    assert not bench.hub.approvals.pending()


async def test_line_breaks_and_look_alikes_are_shown_as_they_are(bench: ShellBench) -> None:
    approval, running = await bench.asked("ls\nrm x")

    assert '"ls\\nrm x"' in details_text(approval.details)
    await bench.answer(approval, False)
    await running
    approval, running = await bench.asked("sort 'n\u043ete.txt'")
    assert approval.details["look-alikes"] == ["CYRILLIC SMALL LETTER O"]
    await bench.answer(approval, False)
    await running


async def test_a_command_ends_in_time_with_all_it_started_and_its_output_is_bounded(bench: ShellBench) -> None:
    bench.rules = ExecRules(mode="full")

    late = asyncio.create_task(bench.exec("sleep 100 & echo $! > pid; echo begun; sleep 100", timeout_s=60))
    await until(lambda: any("begun" in each.output.text() for each in bench.running.of(MAIN)))
    await bench.hub.clock.advance(61)
    much = await bench.exec("head -c 3000000 /dev/zero | tr '\\0' x")

    assert "begun" in (await late).output
    assert "[timed out]" in late.result().output
    child = int((bench.workspace / "pid").read_text())
    await until(lambda: not runs(child))
    assert len(much.output) < 40_000


async def test_every_command_is_in_the_log_with_its_verdict_and_end(bench: ShellBench) -> None:
    await bench.exec("ls")
    approval, running = await bench.asked("printf x")
    await bench.answer(approval, True)
    await running
    approval, running = await bench.asked("sh -c 'exit 3'")
    await bench.answer(approval, True)
    await running
    approval, running = await bench.asked("touch x")
    await bench.answer(approval, False)
    await running

    found = [(each["command"], each["verdict"], each["exit_code"]) for each in await bench.log.latest(10)]

    assert found == [
        ("touch x", "refused", None),
        ("sh -c 'exit 3'", "once", 3),
        ("printf x", "once", 0),
        ("ls", "harmless", 0),
    ]


async def test_a_trojan_in_the_working_directory_is_not_what_runs(bench: ShellBench) -> None:
    trojan = bench.workspace / "ls"
    trojan.write_text("#!/bin/sh\necho trojan\n")
    trojan.chmod(0o755)

    assert "trojan" not in (await bench.exec("ls -a notes.txt")).output
    approval, running = await bench.asked("./ls")
    await bench.answer(approval, False)
    await running


async def test_a_symlink_out_of_the_workspace_and_what_is_hidden_are_asked_about(bench: ShellBench) -> None:
    os.symlink("/etc/passwd", bench.workspace / "link.txt")
    hidden = bench.workspace / "memory" / "people"
    hidden.mkdir(parents=True, exist_ok=True)
    (hidden / "anna.md").write_text("hers")

    for command in ("cat link.txt", "cat memory/people/anna.md"):
        approval, running = await bench.asked(command)
        await bench.answer(approval, False)
        await running


async def test_an_owner_lets_a_conversation_run_on_the_hub_and_no_words_from_outside_do(bench: ShellBench) -> None:
    other = "agent:main:telegram:direct:1"
    bench.sandboxed.add(other)
    command = {"command": "pwd"}

    before = await bench.hub.call("exec", command, session=other)
    await bench.hub.command("/elevated on", session=other)
    lifted = await bench.hub.call("exec", command, session=other)
    tainted = await bench.hub.call("exec", command, session=other, authority=bench.hub.owner.narrow(tainted=True))
    await bench.hub.command("/elevated off", session=other)
    after = await bench.hub.call("exec", command, session=other)

    assert "needs a sandbox" in before.output
    assert lifted.output == str(bench.workspace)
    assert "needs a sandbox" in tainted.output
    assert "needs a sandbox" in after.output


async def test_only_the_named_identities_of_owners_lift_it_in_chat_apps(bench: ShellBench) -> None:
    other = "agent:main:telegram:direct:1"
    bench.sandboxed.add(other)
    owner, bench.tools_section = bench.hub.owner, {"elevated": True, "elevated_from": ["telegram:user:1"]}
    named, unnamed = (replace(owner, principal=f"peer:{each}:user:1") for each in ("telegram", "discord"))

    refused = await bench.hub.command("/elevated on", session=other, authority=unnamed)
    before = await bench.hub.call("exec", {"command": "pwd"}, session=other, authority=unnamed)
    await bench.hub.command("/elevated on", session=other, authority=named)
    ran = [
        (await bench.hub.call("exec", {"command": "pwd"}, session=other, authority=each)).output == str(bench.workspace)
        for each in (named, unnamed, owner)
    ]

    assert "tools.elevated_from does not name" in refused.text
    assert "needs a sandbox" in before.output
    assert ran == [True, False, True]


async def test_a_sandbox_with_a_network_asks_when_another_than_the_owner_alone_could_carry_something_out(
    bench: ShellBench,
) -> None:
    bench.sandbox = sandbox = LocalSandbox(bench.workspace)
    sandbox.reaches_out = True

    await bench.exec("pwd", host="sandbox")
    approval, running = await bench.asked("pwd", authority=bench.hub.owner.narrow(tainted=True))
    await bench.answer(approval, False)
    refused = await running

    assert len(sandbox.started) == 1
    assert "needs the owner's approval" in refused.output
    assert "could carry things out of this home" in approval.text


async def test_in_a_sandbox_nothing_is_asked_and_only_named_secrets_are_given(bench: ShellBench) -> None:
    (bench.workspace / "sub").mkdir()
    bench.sandbox = sandbox = LocalSandbox(bench.workspace)
    bench.secrets = {
        "SHOP_TOKEN": Secret("sesame-open"),
        "LD_PRELOAD": Secret("./evil.so"),
        "GOOGLE_API_KEY": Secret("k"),
    }
    tainted = bench.hub.owner.narrow(tainted=True)

    result = await bench.exec("echo $SHOP_TOKEN; pwd", tainted, workdir="sub", env={"TZ": "UTC"})
    failed = await bench.exec("false", bench.hub.anna)
    asked = await bench.exec("pwd", host="sandbox")
    refused = await bench.exec("pwd", tainted, host="hub")

    assert f"sesame-open\n{bench.workspace / 'sub'}" in result.output
    assert (result.details["host"], result.trusted) == ("sandbox", False)
    assert sandbox.started[0].argv == ("sh", "-c", "echo $SHOP_TOKEN; pwd")
    assert sandbox.started[0].environment == {"SHOP_TOKEN": "sesame-open", "GOOGLE_API_KEY": "k", "TZ": "UTC"}
    assert "in a sandbox, because" in result.output
    assert (failed.details["exit_code"], failed.is_error) == (1, True)
    assert asked.details["host"] == "sandbox"
    assert "in a sandbox" not in failed.output + asked.output
    assert "run in a sandbox" in refused.output
    assert not bench.hub.approvals.pending()
