"""The launcher: which version a command goes on in, and a new version on trial, also when something is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hub.update.launcher import try_out
from hub.update.record import UpdateRecord, UpdateState, read_record, write_record
from tests.update.releases import prepared

START = ["start", "--config", "home"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.storage").mkdir(parents=True)
    write_record(tmp_path / "home", UpdateRecord("99.1", "99.0", UpdateState.TRYING, problems=("a b",)))
    return tmp_path / "home"


def changes(home: Path, **values: object) -> str:
    """Return shell code that changes the record as the new version does."""
    stored = json.loads((home / ".storage/update.json").read_text()) | values
    return f"cat > {home}/.storage/update.json <<'JSON'\n{json.dumps(stored)}\nJSON"


def test_one_that_ends_twice_is_given_up(home: Path, tmp_path: Path) -> None:
    python = prepared(tmp_path, "99.1", f'echo "$@" >> {tmp_path}/starts; exit 3')

    try_out(home, python, START)

    record = read_record(home)
    assert record is not None
    assert (record.state, record.starts, record.runs) == (UpdateState.BACK, 2, "99.0")
    assert record.why == "it ended with exit code 3 before it was ready"
    assert record.problems == ("a b",)
    assert (tmp_path / "starts").read_text().splitlines() == ["-P -m hub start --config home"] * 2


def test_its_own_reason_is_kept(home: Path, tmp_path: Path) -> None:
    python = prepared(tmp_path, "99.1", f"{changes(home, starts=2, why='migration 12 failed')}\nexit 1")

    try_out(home, python, START)

    record = read_record(home)
    assert record is not None
    assert record.why == "migration 12 failed"


def test_one_that_was_killed_is_tried_once_more(home: Path, tmp_path: Path) -> None:
    python = prepared(
        tmp_path, "99.1", f"[ -e {tmp_path}/once ] && {{ {changes(home, state='kept')}\n exit 0; }}\n"
        f"touch {tmp_path}/once; kill -9 $$"
    )  # fmt: skip

    with pytest.raises(SystemExit) as ended:
        try_out(home, python, START)

    assert ended.value.code == 0
    assert read_record(home) == UpdateRecord("99.1", "99.0", UpdateState.KEPT, problems=("a b",))


def test_one_that_hangs_is_ended(home: Path, tmp_path: Path) -> None:
    python = prepared(tmp_path, "99.1", "exec sleep 600")

    try_out(home, python, START, limit_s=0.0)

    record = read_record(home)
    assert record is not None
    assert (record.state, record.why) == (UpdateState.BACK, "it was not ready within 0 s")


def test_a_stop_is_no_failure(home: Path, tmp_path: Path) -> None:
    python = prepared(tmp_path, "99.1", "trap 'exit 0' TERM; kill -TERM $PPID; while :; do sleep 0.01; done")

    with pytest.raises(SystemExit) as ended:
        try_out(home, python, START)

    record = read_record(home)
    assert record is not None
    assert (ended.value.code, record.state, record.starts) == (0, UpdateState.TRYING, 0)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_kept_version_that_updates_leaves_its_process_to_the_next(home: Path, tmp_path: Path) -> None:
    changed = changes(home, version="99.2", previous="99.1", state="trying")
    python = prepared(tmp_path, "99.1", f'echo "$HOMARUS_LAUNCHER $PPID" > {tmp_path}/told; {changed}\nexit 75')

    try_out(home, python, START)

    launcher, parent = (tmp_path / "told").read_text().split()
    assert launcher == parent  # so it ends for another version, and does not start it below itself
    assert read_record(home) == UpdateRecord("99.2", "99.1", UpdateState.TRYING, problems=("a b",))


def test_a_home_that_another_hub_has_is_no_failure(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        try_out(home, prepared(tmp_path, "99.1", "exit 75"), START)

    assert ended.value.code == 75
    record = read_record(home)
    assert record is not None
    assert (record.state, record.starts) == (UpdateState.TRYING, 0)


def test_when_the_launcher_was_killed_the_next_one_counts_on(home: Path, tmp_path: Path) -> None:
    write_record(home, UpdateRecord("99.1", "99.0", UpdateState.TRYING, starts=2))
    python = prepared(tmp_path, "99.1", f"touch {tmp_path}/started")

    try_out(home, python, START)

    record = read_record(home)
    assert record is not None
    assert record.state is UpdateState.BACK
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("state", "told"),
    [(UpdateState.READY, ""), (UpdateState.TRYING, "99.1"), (UpdateState.KEPT, "99.1"), (UpdateState.BACK, "99.0")],
)
def test_a_command_goes_on_in_the_version_of_its_home(tmp_path: Path, state: UpdateState, told: str) -> None:
    home, base = tmp_path / "home", tmp_path / "env"
    (home / ".storage").mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", base], check=True)
    for version in ("99.0", "99.1"):
        prepared(base, version, f"echo {version} $6")
    write_record(home, UpdateRecord("99.1", "99.0", state))
    script = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parents[2])]!r}; sys.argv = ['homarus', 'check', '--config', "
        f"{str(home)!r}]; from hub.update.launcher import launch; from pathlib import Path; "
        f"launch(Path({str(home)!r}), sys.argv[1:]); print('this one')"
    )

    ran = subprocess.run([base / "bin/python", "-c", script], capture_output=True, text=True, check=False)

    expected = "99.0" if state is UpdateState.READY else told
    assert ran.stdout.strip() == f"{expected} {home}", ran.stderr
