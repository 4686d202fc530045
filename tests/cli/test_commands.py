"""Every command explains itself, answers in JSON and fails with the code that says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from hub import __version__
from hub.cli.app import commands
from hub.storage.homedir import Home
from tests.cli.terminal import Terminal, command_at, every_command

COMMANDS = sorted(every_command())
# What must be given for the command to get as far as asking a hub.
ARGUMENTS: dict[tuple[str, ...], list[str]] = {
    ("agents", "add"): ["kitchen"],
    **{("repairs", name): ["config/restart"] for name in ("fix", "ignore")},
    ("agents", "show"): ["main"],
    ("agents", "set"): ["main", "--name", "Homarus"],
    **{("agents", name): ["main", "telegram"] for name in ("bind", "unbind")},
    ("agent", "run"): ["hello"],
    ("agents", "identity"): ["main"],
    ("agents", "remove"): ["spare"],
    ("approvals", "answer"): ["K7WQX2", "yes"],
    ("approvals", "approve"): ["K7WQX2"],
    ("approvals", "deny"): ["K7WQX2"],
    **{("message", name): ["--to", "telegram:1", "Hello"] for name in ("broadcast", "send")},
    ("message", "poll"): ["--to", "telegram:1", "Tea?", "--option", "Yes", "--option", "No"],
    ("message", "react"): ["--to", "telegram:1", "7", "👍"],
    **{("outbox", name): ["01jx"] for name in ("show", "retry", "drop")},
    ("timeline", "show"): ["run.k1"],
    **{
        ("automation", name): ["morning"]
        for name in ("show", "trigger", "trace", "test", "backtest", "explain", "on", "off", "resume", "export")
    },
    ("automation", "import"): [str(Path(__file__).with_name("trace.json"))],
    ("browser", "attach"): ["--profile", "laptop"],
    ("browser", "open"): ["https://example.org"],
    **{("browser", name): ["12", "x"] for name in ("drag", "fill", "select", "type")},
    **{("browser", name): ["12"] for name in ("click", "evaluate", "hover", "pdf", "press", "screenshot")},
    ("browser", "navigate"): ["https://example.org"],
    ("blueprint", "import"): ["https://example.org/motion_light.yaml"],
    ("blueprint", "remove"): ["mine/ring.yaml"],
    ("blueprint", "update"): ["mine/ring.yaml"],
    ("integration", "new"): ["doorbell", "--tool"],
    **{("integration", name): ["notes"] for name in ("reload", "enable", "disable", "info", "remove")},
    ("integration", "install"): [str(Path(__file__).with_name("trace.json"))],
    ("node", "install"): ["--print"],
    ("call",): ["health"],
    ("mcp", "call"): ["mcp_github_search"],
    ("mcp", "sign-in"): ["http://127.0.0.1/mcp/callback?code=x&state=y"],
    **{("mcp", name): ["github"] for name in ("accept", "tools")},
    ("mqtt", "listen"): ["#"],
    ("mqtt", "publish"): ["lamp/set", "on"],
    **{("channels", name): ["telegram"] for name in ("add", "link", "login", "remove", "test")},
    ("models", "remove"): ["my_server"],
    ("models", "set"): ["auto"],
    ("system", "event"): ["The parcel is here"],
    ("models", "auth", "add"): ["openai"],
    ("models", "auth", "login"): ["openai"],
    ("models", "auth", "remove"): ["openai", "--id", "work"],
    ("chat",): ["hello"],
    **{("devices", name): ["02be18"] for name in ("approve", "reject", "revoke", "remove", "rotate")},
    ("completion",): ["bash"],
    ("uninstall",): ["--dry-run"],
    ("devices", "rename"): ["02be18", "Tablet"],
    **{("nodes", name): ["phone"] for name in ("approve", "describe", "reject", "remove")},
    **{("nodes", name): ["phone", "x"] for name in ("invoke", "notify", "rename")},
    ("cron", "edit"): ["morning", "--name", "Morning"],
    **{("cron", name): ["morning"] for name in ("remove", "run")},
    ("areas", "add"): ["Kitchen"],
    ("areas", "remove"): ["kitchen"],
    **{("entities", name): ["switch.a", "x"] for name in ("rename", "move")},
    **{("entities", name): ["switch.a"] for name in ("expose", "remove")},
    ("entities", "accept"): ["--all"],
    **{("hooks", name): ["quiet-night"] for name in ("info", "enable", "disable")},
    ("event", "fire"): ["bell_pressed"],
    ("memory", "add"): ["the boiler was serviced"],
    ("memory", "export"): ["elsewhere"],
    ("memory", "forget"): ["boiler"],
    ("memory", "import"): ["elsewhere", "--from", "markdown"],
    ("memory", "intents", "add"): ["boiler", "change the filter"],
    ("memory", "intents", "remove"): ["some-id"],
    ("memory", "search"): ["boiler"],
    ("memory", "show"): ["MEMORY.md"],
    ("memory", "undo"): ["some-id"],
    **{("pairing", name): ["telegram", "K7WQX2MA"] for name in ("approve", "deny")},
    ("pairing", "revoke"): ["telegram", "telegram:user:1"],
    ("route", "explain"): ["--channel", "telegram", "--peer", "1"],
    ("sandbox", "recreate"): ["homarus-agent-main"],
    ("script", "run"): ["greet"],
    **{("secrets", name): ["BIKE_KEY"] for name in ("set", "remove")},
    **{("skills", name): ["shopping-list"] for name in ("info", "enable", "disable", "remove")},
    ("skills", "install"): ["https://example.org/tea.zip"],
    ("skills", "search"): ["tea"],
    ("service", "call"): ["hub.check"],
    **{
        ("sessions", name): ["main"]
        for name in ("show", "compact", "export", "fork", "archive", "reset", "search", "snooze", "delete", "tail")
    },
    ("discover",): ["--ignore", "3f2a91c07d5e"],
    ("state", "get"): ["light.kitchen"],
    ("state", "remove"): ["light.kitchen"],
    ("state", "set"): ["light.kitchen", "on"],
    ("template",): ["{{ 6 * 7 }}"],
    ("token", "create"): ["--name", "phone", "--scopes", "operator.read"],
    ("token", "revoke"): ["some-id"],
    ("tools", "explain"): ["read"],
    ("tool", "run"): ["ls"],
    ("exec", "rules", "remove"): ["3fa91c20"],
    ("migrate", "undo"): ["--yes"],
    ("trace", "replay"): ["some-run", "--model", "offline"],
    ("trace", "show"): ["some-run"],
    ("config", "set"): ["hub.name", "House"],
}
KEEPS_KEYS = {("models", "auth", name) for name in ("add", "login", "setup-token")}
"""They work with a hub and without one, and ask on the terminal."""
NEEDS_HUB = {
    *(("agents", name) for name in ("bind", "set", "show", "unbind")),
    ("agent", "run"),
    ("health",),
    *(("repairs", name) for name in ("list", "fix", "ignore")),
    ("approvals", "answer"),
    ("approvals", "approve"),
    ("approvals", "deny"),
    ("approvals", "list"),
    *(("message", name) for name in ("broadcast", "poll", "react", "send")),
    *(("outbox", name) for name in ("list", "show", "retry", "drop")),
    *(("timeline", name) for name in ("list", "show")),
    *(("secrets", name) for name in ("list", "set", "remove")),
    *(("integration", name) for name in ("list", "reload", "enable", "disable", "info", "install", "update", "remove")),
    *(
        path
        for path in COMMANDS
        if path[0]
        in {
            *(
                "areas",
                "automation",
                "blueprint",
                "browser",
                "channels",
                "cron",
                "devices",
                "entities",
                "event",
                "hooks",
                "mcp",
                "memory",
                "mqtt",
                "nodes",
                "pairing",
            ),
            *("route", "sandbox", "script", "skills", "state", "system", "tools", "trace"),
        }
    ),
    *({path for path in COMMANDS if path[0] == "models"} - KEEPS_KEYS),
    ("audit", "list"),
    ("call",),
    ("chat",),
    ("diagnostics",),
    ("service", "call"),
    ("service", "list"),
    *(path for path in COMMANDS if path[0] in {"acp", "discover", "exec", "tool"}),
    ("tui",),
    ("context", "explain"),
    ("dashboard",),
    ("directory",),
    ("logs",),
    *(("migrate", name) for name in ("list", "undo")),
    ("sessions", "archive"),
    ("sessions", "compact"),
    ("sessions", "delete"),
    ("sessions", "export"),
    ("sessions", "fork"),
    ("sessions", "list"),
    ("sessions", "prune"),
    ("sessions", "reset"),
    ("sessions", "search"),
    ("sessions", "show"),
    ("sessions", "snooze"),
    ("sessions", "tail"),
    ("sessions", "tree"),
    ("status",),
    ("template",),
    ("token", "create"),
    ("token", "list"),
    ("token", "revoke"),
}
NEEDS_HUB -= {("browser", "extension", name) for name in ("install", "path")}
NEEDS_BACKUP = {("backup", name) for name in ("delete", "restore", "undo", "verify")}
OF_MACHINE = {path for path in COMMANDS if path[0] in ("service", "update") or path[:2] == ("node", "service")}
NEEDS_MODELS = {("voice", name) for name in ("install", "remove", "test")}
NEEDS_DATABASE = {("storage", "move")}
OF_WORKERS = {path for path in COMMANDS if path[0] in ("homes", "worker")}
NEEDS_A_FOLDER = {path for path in COMMANDS if path[0] == "migrate"} - NEEDS_HUB
ALONE = sorted(
    set(COMMANDS)
    - KEEPS_KEYS
    - NEEDS_HUB
    - NEEDS_BACKUP
    - NEEDS_DATABASE
    - OF_WORKERS
    - OF_MACHINE
    - NEEDS_A_FOLDER
    - NEEDS_MODELS
    - {("start",), ("demo",), ("node", "run")}
)


def typed(path: tuple[str, ...]) -> str:
    return " ".join(path)


def test_help_says_what_it_does_and_shows_an_example(type_: Terminal) -> None:
    helps = {path: type_(*path, "--help") for path in COMMANDS}

    assert {path: ran.code for path, ran in helps.items() if ran.code} == {}
    assert [path for path, ran in helps.items() if f"  Example:\n    homarus {typed(path)}" not in ran.out] == []


def test_it_takes_json_and_a_home() -> None:
    options = {path: {word for each in command_at(path).params for word in each.opts} for path in COMMANDS}

    assert {path: found for path, found in options.items() if not {"--json", "--config"} <= found} == {
        ("demo",): options["demo",],  # makes a home of its own
        **{path: options[path] for path in OF_WORKERS},  # which have the folder of many homes
    }
    assert [path for path in OF_WORKERS if not {"--json", "--homes", "--database"} <= options[path]] == []


def test_each_option_says_what_it_is_for() -> None:
    options = [(path, each) for path in COMMANDS for each in command_at(path).params if isinstance(each, click.Option)]

    assert [(path, each.name) for path, each in options if not each.help] == []


def test_without_a_hub_it_says_how_to_start_one_and_exits_4(type_: Terminal) -> None:
    answers = {path: type_(*path, *ARGUMENTS.get(path, [])) for path in sorted(NEEDS_HUB)}

    wrong = {path: ran for path, ran in answers.items() if (ran.code, ran.out) != (4, "")}
    assert wrong == {}
    told = f"homarus start --config {type_.home}"
    assert {path: ran.err for path, ran in answers.items() if told not in ran.err} == {}


def test_without_a_hub_json_says_it_too(type_: Terminal) -> None:
    answers = {path: type_(*path, *ARGUMENTS.get(path, []), "--json") for path in sorted(NEEDS_HUB)}

    assert {path: ran for path, ran in answers.items() if (ran.code, ran.json["error"]["exit"]) != (4, 4)} == {}
    messages = {path: ran.json["error"]["message"] for path, ran in answers.items()}
    assert {path: message for path, message in messages.items() if "homarus start" not in message} == {}


@pytest.mark.parametrize("path", ALONE, ids=typed)
def test_what_needs_no_hub_answers_in_json(type_: Terminal, path: tuple[str, ...]) -> None:
    # A hub of one's own may listen on the port of the starter configuration, and the doctor would say so.
    configuration = Home(type_.home).configuration
    text = configuration.read_text(encoding="utf-8").replace("port: 18789", "port: 0")
    configuration.write_text(text.replace("agents:\n", "agents:\n  - id: spare\n"), "utf-8")

    ran = type_(*path, *ARGUMENTS.get(path, []), "--json")

    assert ran.code == 0
    assert ran.json is not None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tokn"], "Did you mean token?"),
        (["token", "crate"], "Did you mean create?"),
        (["sessions", "lst"], "Did you mean list?"),
        (["status", "--jsn"], "Did you mean '--json'?"),
        (["configuration"], "Did you mean config?"),
        (["--config", "/tmp", "check"], "belongs after the command: homarus COMMAND --config"),
        (["service", "call", "notify.notify", "message=hi"], "Data goes into --data, as JSON."),
        (["xyzzy"], "`homarus --help` lists the commands."),
        (["config", "xyzzy"], "`homarus config --help` lists the commands."),
        (["start", "--port", "70000"], "--port"),
        (["config", "set", "hub.name", "x: [1"], "the value x: [1 is not valid YAML"),
        (["config", "get", "--config", ""], "empty"),
        (["call", "health", "--params", "{"], "--params is not JSON"),
        (["call", "health", "--params", "[]"], "must be a JSON object"),
        (["automation", "lst"], "Did you mean list?"),
        (["automation", "trigger", "x", "--variables", "["], "--variables is not JSON"),
        (["event", "fire", "x", "--data", "7"], "--data must be a JSON object"),
        (["state", "set", "light.kitchen"], "STATE"),
        (["chat", "hi", "--agent", "one", "--session", "agent:two:main"], "is not one of the agent one"),
        (["config", "get", "http..port"], "is not a path of keys"),
    ],
)
def test_wrong_usage_is_explained(type_: Terminal, arguments: list[str], told: str) -> None:
    ran = type_(*arguments)

    assert ran.code == 2
    assert told in ran.err


def test_wrong_usage_is_json_too(type_: Terminal) -> None:
    ran = type_("status", "--json", "--nonsense")

    assert ran.code == 2
    assert ran.json["error"]["exit"] == 2


def test_nothing_at_all_shows_the_help(type_: Terminal) -> None:
    ran = type_()

    assert ran.code == 2
    assert "doctor" in ran.err


def test_help_imports_no_command() -> None:
    script = "import sys; from hub.cli.app import run; run(['--help']); print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    help, _, modules = told.rstrip().rpartition("\n")
    assert "Show the running hub: models, agents, channels" in help
    assert {row["module"] for row in commands().values()} & set(modules.split()) == set()


def test_the_home_of_a_group_holds_for_its_commands(type_: Terminal, tmp_path: Path) -> None:
    ran = type_("token", "--config", str(tmp_path / "elsewhere"), "list")

    assert ran.code == 4
    assert str(tmp_path / "elsewhere") in ran.err


def test_the_token_is_printed_alone_and_stays_the_same(type_: Terminal) -> None:
    first, second = type_("token"), type_("token", "--json")

    assert first.code == 0
    assert first.out.strip() == second.json["token"]
    assert (type_.home / ".storage" / "hub_token").stat().st_mode & 0o777 == 0o600


def test_a_token_that_cannot_be_trusted_is_an_error_and_no_traceback(type_: Terminal) -> None:
    (type_.home / ".storage" / "hub_token").write_text("changeme\n")

    ran = type_("token", "--json")

    assert ran.code == 1
    assert ran.json["error"]["code"] == "WEAK_SECRET"


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)


def modules_after(*arguments: str) -> set[str]:
    """What is loaded when a command has ended."""
    code = f"import sys; from hub.cli.app import run; run({list(arguments)!r}); print(); print(*sys.modules)"
    return set(process("-c", code).stdout.splitlines()[-1].split())


def test_the_version_is_told_without_loading_anything() -> None:
    code = "import sys; sys.argv = ['homarus', '--version']; from hub.cli import main; main(); print(*sys.modules)"

    ran = process("-c", code)

    version, modules = ran.stdout.splitlines()
    assert version == f"homarus {__version__}"
    assert not {"click", "json", "asyncio", "voluptuous"} & set(modules.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--json"],
        ["token"],
        ["call", "health"],
        ["chat", "hello"],
        ["automation", "list"],
        ["memory", "search", "boiler"],
    ],
)
def test_a_short_command_loads_no_schema_and_no_network_stack(home: Path, arguments: list[str]) -> None:
    modules = modules_after(*arguments, "--config", str(home))

    assert not {"aiohttp", "asyncio", "voluptuous", "ruamel.yaml", "cryptography", "rich"} & modules


def test_the_help_loads_no_http_library() -> None:
    assert not {"aiohttp", "litellm", "cryptography", "rich"} & modules_after("--help")


def test_a_check_loads_no_network_stack(home: Path) -> None:
    modules = modules_after("check", "--config", str(home))

    assert not {"aiohttp", "litellm", "cryptography", "rich", "http.client"} & modules


def test_who_reads_no_more_is_no_error(home: Path) -> None:
    ran = subprocess.run(
        f"{sys.executable} -m hub config schema --config {home} | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0
    assert ran.stderr == ""
