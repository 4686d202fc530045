"""The scripts, run for real in a checkout of their own on a machine whose other programs are recorded stubs."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
BASIC, EXTRAS = (
    re.findall(rf"^{name}=\((.*)\)$", (CHECKOUT / "script/setup").read_text(), re.MULTILINE)[0].split()
    for name in ("basic", "extras")
)
COPIED = (
    *("script/bench", "script/run", "script/setup", "script/setup-requirements.txt", "script/system-package"),
    "script/test",
    *("pyproject.toml", "uv.lock", "hub/__init__.py"),
)
BASICS = ("bash", "cat", "chmod", "cp", "cut", "dirname", "env", "mkdir", "mktemp", "rm", "sha256sum")

# Each writes down how it was called. What they are asked to make, they make with copies of themselves.
PYTHON = """#!{bash}
echo "python $*" >> {log}
case "$*" in
    "-m tests.benchmarks"* | "-m pytest"*)
        echo "PYTHONDONTWRITEBYTECODE=${{PYTHONDONTWRITEBYTECODE-}} HOMARUS_TESTS=${{HOMARUS_TESTS-}}" >> {log} ;;
    *version_info*) exit {old} ;;
    *ensurepip*) exit {bare} ;;
    *_base_executable*) echo "$0" ;;
    "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp {uv} .venv/bin/uv && cp {hub} .venv/bin/homarus ;;
esac
"""
UV = """#!{bash}
echo "uv $*" >> {log}
! [ -e broken-network ]
"""


HOMARUS = """#!{bash}
echo "homarus in $PWD:$(printf ' <%s>' "$@")" >> {log}
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A checkout in `folder`, the programs of `path`, and what they have been asked to do."""

    folder: Path
    path: Path
    log: Path

    def install(self, name: str, text: str, **facts: object) -> Path:
        program = self.path / name
        program.write_text(text.format(bash=shutil.which("bash"), log=self.log, **facts), encoding="utf-8")
        program.chmod(0o755)
        return program

    def install_python(self, name: str = "python3", *, old: bool = False, bare: bool = False) -> None:
        uv, hub = self.install("uv-of-the-lock", UV), self.install("homarus-of-the-checkout", HOMARUS)
        self.install(name, PYTHON, old=int(old), bare=int(bare), uv=uv, hub=hub)

    def run(self, script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "script" / script), *arguments]
        environment["PATH"] = str(self.path)
        return subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, timeout=30, check=False
        )

    def setup(self, *arguments: str) -> list[str]:
        """Run script/setup, which must succeed, and return the calls of uv and of `python -m` that it made."""
        self.log.write_text("", encoding="utf-8")
        done = self.run("setup", *arguments)
        assert done.returncode == 0, done.stderr
        return [line for line in self.calls() if line.startswith(("uv", "python -m"))]

    def calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the basic programs, a checkout and nothing else: no Python, no package manager."""
    made = Machine(tmp_path / "a checkout", tmp_path / "bin", tmp_path / "log")
    for name in COPIED:
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, made.folder / name)
    made.path.mkdir()
    made.log.touch()
    for name in BASICS:
        found = shutil.which(name)
        assert found
        (made.path / name).symlink_to(found)
    return made


def test_the_first_run_makes_an_environment_and_installs_what_nearly_every_home_uses(machine: Machine) -> None:
    machine.install_python()

    calls = machine.setup()

    assert "python -m venv --clear --prompt homarus .venv" in calls
    assert "uv sync --locked" in calls[-1]
    assert "--no-build-isolation-package homarus" in calls[-1]
    assert re.findall(r"--extra ([\w-]+)", calls[-1]) == BASIC
    assert "--group dev" not in calls[-1]


def test_a_full_environment_has_the_extras_of_the_documentation_and_stays_full(machine: Machine) -> None:
    machine.install_python()

    assert re.findall(r"--extra ([\w-]+)", machine.setup("--full")[-1]) == EXTRAS
    assert machine.setup() == []
    assert machine.setup("--same") == []


def test_extras_are_added_to_what_is_there_and_kept(machine: Machine) -> None:
    machine.install_python()
    machine.setup("--minimal")

    added = machine.setup("--add", "telegram", "web")
    again = machine.setup("--add", "web")
    more = machine.setup("--add", "matrix")
    same = machine.setup("--same")
    (machine.folder / "uv.lock").write_text("version = 2\n", encoding="utf-8")
    newer = machine.setup("--same")

    assert re.findall(r"--extra ([\w-]+)", added[-1]) == ["telegram", "web"]
    assert again == same == []
    assert re.findall(r"--extra ([\w-]+)", more[-1]) == ["telegram", "web", "matrix"]
    assert re.findall(r"--extra ([\w-]+)", newer[-1]) == ["telegram", "web", "matrix"]
    assert "--extra" not in machine.setup("--minimal")[-1]


def test_a_moved_checkout_keeps_the_extras_that_were_added(machine: Machine) -> None:
    machine.install_python()
    machine.setup("--add", "telegram")
    moved = Machine(machine.folder.rename(machine.folder.with_name("moved")), machine.path, machine.log)

    assert re.findall(r"--extra ([\w-]+)", moved.setup("--same")[-1]) == ["telegram", *BASIC]


@pytest.mark.parametrize("extras", [[], ["telegramm"], ["telegram", "te.*"]])
def test_extras_that_do_not_exist_are_refused(machine: Machine, extras: list[str]) -> None:
    machine.install_python()

    done = machine.run("setup", "--add", *extras)

    assert done.returncode == 2
    assert machine.calls() == []


def test_the_program_is_compiled_with_what_it_needs(machine: Machine) -> None:
    machine.install_python()

    assert "python -m compileall -q -j 0 hub integrations web" in machine.setup("--minimal")


def test_a_second_run_does_nothing(machine: Machine) -> None:
    machine.install_python()
    machine.setup()

    assert machine.setup() == []
    assert machine.run("setup").stderr == ""


def test_the_packages_of_the_set_up_itself_are_checked_by_their_hashes(machine: Machine) -> None:
    machine.install_python()

    calls = machine.setup()

    assert any("pip install" in call and "--require-hashes" in call for call in calls)


@pytest.mark.parametrize("file", ["uv.lock", "pyproject.toml", "script/setup-requirements.txt"])
def test_a_changed_file_that_decides_what_is_installed_is_followed(machine: Machine, file: str) -> None:
    machine.install_python()
    machine.setup()
    with (machine.folder / file).open("a", encoding="utf-8") as opened:
        opened.write("\n# changed\n")

    calls = machine.setup()

    assert "uv sync" in calls[-1]
    assert not any("venv" in call.split() for call in calls)


def test_minimal_installs_the_core_alone(machine: Machine) -> None:
    machine.install_python()

    assert "--extra" not in machine.setup("--minimal")[-1]


def test_minimal_after_more_takes_the_rest_away(machine: Machine) -> None:
    machine.install_python()
    machine.setup()

    calls = machine.setup("--minimal")

    assert "uv sync" in calls[-1]
    assert "--extra" not in calls[-1]


def test_the_same_again_stays_minimal_when_the_lock_changes(machine: Machine) -> None:
    machine.install_python()
    machine.setup("--minimal")
    (machine.folder / "uv.lock").write_text("version = 2\n", encoding="utf-8")

    assert "--extra" not in machine.setup("--same")[-1]


def test_the_same_on_a_new_checkout_is_the_default(machine: Machine) -> None:
    machine.install_python()

    assert re.findall(r"--extra ([\w-]+)", machine.setup("--same")[-1]) == BASIC


def test_an_environment_for_tests_serves_the_hub_too(machine: Machine) -> None:
    machine.install_python()

    assert "--group dev" in machine.setup("--dev")[-1]
    assert machine.setup() == []
    assert machine.setup("--same") == []


def test_a_failed_download_is_tried_again_the_next_time(machine: Machine) -> None:
    machine.install_python()
    (machine.folder / "broken-network").touch()

    failed = machine.run("setup", "--minimal")
    (machine.folder / "broken-network").unlink()
    calls = machine.setup("--same")

    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    assert "uv sync" in calls[-1]
    assert "--extra" not in calls[-1]


def test_a_checkout_that_was_moved_gets_a_new_environment(machine: Machine) -> None:
    machine.install_python()
    machine.setup()
    moved = Machine(machine.folder.rename(machine.folder.with_name("moved")), machine.path, machine.log)

    assert "python -m venv --clear --prompt homarus .venv" in moved.setup()


def test_an_environment_whose_python_is_gone_is_made_anew(machine: Machine) -> None:
    machine.install_python()
    machine.setup()
    (machine.folder / ".venv/bin/python").unlink()

    assert "python -m venv --clear --prompt homarus .venv" in machine.setup()


@pytest.mark.parametrize("name", ["python3.13", "python3.12", "python3.11"])
def test_a_newer_python_beside_an_old_one_is_found(machine: Machine, name: str) -> None:
    machine.install_python(old=True)
    machine.install_python(name)

    assert "uv sync" in machine.setup()[-1]


def test_a_python_that_can_make_environments_is_preferred(machine: Machine) -> None:
    machine.install_python(bare=True)
    machine.install_python("python3.12")

    assert "uv sync" in machine.setup()[-1]


@pytest.mark.parametrize("has_old", [False, True])
def test_no_python_is_told_with_what_to_install(machine: Machine, has_old: bool) -> None:
    if has_old:
        machine.install_python(old=True)

    done = machine.run("setup")

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
    assert not (machine.folder / ".venv").exists()


def test_a_python_without_environments_is_told_with_the_package_that_is_missing(machine: Machine) -> None:
    machine.install_python(bare=True)

    done = machine.run("setup")

    assert done.returncode == 1
    assert "Missing system package: python3-venv" in done.stderr


@pytest.mark.parametrize("arguments", [["--tiny"], ["--dev", "--minimal"], ["telegram"]])
def test_arguments_that_it_does_not_know_are_refused(machine: Machine, arguments: list[str]) -> None:
    done = machine.run("setup", *arguments)

    assert done.returncode == 2
    assert "Usage: script/setup" in done.stderr


def test_help_is_no_error(machine: Machine) -> None:
    done = machine.run("setup", "--help")

    assert done.returncode == 0
    assert "Usage: script/setup" in done.stdout


def test_root_installs_a_system_package_after_fetching_the_lists(machine: Machine) -> None:
    machine.install("id", "#!{bash}\necho 0\n")
    machine.install(
        "apt-get",
        '#!{bash}\necho "apt-get $*" >> {log}\n[[ $* == *update* ]] && exec touch {fresh}\n[ -e {fresh} ]\n',
        fresh=machine.path / "fresh-lists",
    )
    machine.install("touch", "#!{bash}\n: > $1\n")

    done = machine.run("system-package", "chromium", "run the browser tests")

    assert done.returncode == 0
    assert [call.split("=300 ")[1] for call in machine.calls()] == [
        "install -y --no-install-recommends chromium",
        "update",
        "install -y --no-install-recommends chromium",
    ]


def test_a_package_that_apt_cannot_install_is_told_with_its_words(machine: Machine) -> None:
    machine.install("id", "#!{bash}\necho 0\n")
    machine.install("apt-get", "#!{bash}\necho no such package\nexit 100\n")

    done = machine.run("system-package", "chromium", "run the browser tests")

    assert done.returncode == 1
    assert "no such package" in done.stderr
    assert "Missing system package: chromium (needed to run the browser tests)" in done.stderr


def test_whoever_is_not_root_is_told_what_an_administrator_would_do(machine: Machine) -> None:
    machine.install("id", "#!{bash}\necho 1000\n")
    machine.install("apt-get", "#!{bash}\necho called >> {log}\n")

    done = machine.run("system-package", "chromium", "run the browser tests")

    assert done.returncode == 1
    assert "As an administrator: apt-get install chromium" in done.stderr
    assert machine.calls() == []


def test_sudo_without_a_question_is_used(machine: Machine) -> None:
    machine.install("id", "#!{bash}\necho 1000\n")
    machine.install("sudo", '#!{bash}\n[ "$1" = -n ] && shift && exec "$@"\n')
    machine.install("true", "#!{bash}\n")
    machine.install("apt-get", '#!{bash}\necho "apt-get $*" >> {log}\n')

    done = machine.run("system-package", "chromium", "run the browser tests")

    assert done.returncode == 0
    assert machine.calls()[0].endswith("install -y --no-install-recommends chromium")


def test_run_sets_up_and_starts_the_hub(machine: Machine) -> None:
    machine.install_python()

    done = machine.run("run")

    assert done.returncode == 0
    assert "uv sync" in machine.calls()[-2]
    assert machine.calls()[-1] == "homarus in /: <start>"


def test_run_hands_what_follows_the_dashes_to_start_as_it_is(machine: Machine) -> None:
    machine.install_python()

    machine.run("run", "--", "--config", "my home", "--port", "0")

    assert machine.calls()[-1] == "homarus in /: <start> <--config> <my home> <--port> <0>"


def test_run_can_install_everything_at_once(machine: Machine) -> None:
    machine.install_python()

    machine.run("run", "--full", "--", "--port", "0")

    assert re.findall(r"--extra ([\w-]+)", next(call for call in machine.calls() if "uv sync" in call)) == EXTRAS
    assert machine.calls()[-1] == "homarus in /: <start> <--port> <0>"


def test_run_keeps_a_minimal_environment(machine: Machine) -> None:
    machine.install_python()
    machine.setup("--minimal")
    machine.log.write_text("", encoding="utf-8")

    machine.run("run")

    assert [call for call in machine.calls() if "uv" in call] == []


def test_run_refuses_what_does_not_follow_the_dashes(machine: Machine) -> None:
    machine.install_python()

    done = machine.run("run", "--port", "0")

    assert done.returncode == 2
    assert "Usage: script/run [--full] [-- ARGUMENTS]" in done.stderr
    assert machine.calls() == []


def test_benchmarks_measure_a_program_that_was_compiled_before_and_say_so(machine: Machine) -> None:
    machine.install_python()

    ordinary = machine.run("bench", "start")
    elsewhere = machine.run("bench", "start", PYTHONDONTWRITEBYTECODE="1")

    assert [line for line in machine.calls() if "DONTWRITE" in line] == ["PYTHONDONTWRITEBYTECODE= HOMARUS_TESTS="] * 2
    assert "PYTHONDONTWRITEBYTECODE" not in ordinary.stderr
    assert "PYTHONDONTWRITEBYTECODE is unset" in elsewhere.stderr


@pytest.mark.parametrize(("arguments", "length"), [((), ""), (("--long",), "long")])
def test_long_tests_are_run_when_they_are_asked_for(machine: Machine, arguments: tuple[str, ...], length: str) -> None:
    machine.install_python()
    for name in ("chromium", "curl"):
        machine.install(name, "#!{bash}\n")

    machine.run("test", *arguments, "tests/core", PYTHONDONTWRITEBYTECODE="1")

    assert machine.calls()[-1] == f"PYTHONDONTWRITEBYTECODE= HOMARUS_TESTS={length}"
    assert machine.calls()[-2].endswith("--ignore tests/benchmarks tests/core")


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("chromium", ["chromium-headless-shell"]),
        ("chromium-headless-shell", ["chromium"]),
        ("busybox", ["chromium-headless-shell", "chromium"]),
    ],
)
def test_both_kinds_of_browser_are_installed(machine: Machine, there: str, wanted: list[str]) -> None:
    machine.install_python()
    for name in (there, "curl", "apt-cache"):
        machine.install(name, "#!{bash}\n")
    machine.install("id", "#!{bash}\necho 0\n")
    machine.install("apt-get", '#!{bash}\necho "apt-get $*" >> {log}\n')

    machine.run("test")

    installed = [call.split()[-1] for call in machine.calls() if call.startswith("apt-get") and "chromium" in call]
    assert installed == wanted
