"""The hub token: made once, whole, private, and refused when it would keep nobody out."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from hub.core.weak_secrets import WeakSecret, weakness
from hub.security.hub_token import HubTokenError, hub_token
from hub.security.passwords import is_hash, refuse_weak_password, verify_password

ROOT = Path(__file__).parents[2]


def test_it_is_made_on_first_need_and_stays(tmp_path: Path) -> None:
    first = hub_token(tmp_path)

    second = hub_token(tmp_path)

    file = tmp_path / ".storage" / "hub_token"
    assert first == second
    assert first.reveal() == file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [each.name for each in file.parent.iterdir()] == ["hub_token"]


def test_the_environment_may_give_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = "homhub_" + os.urandom(16).hex()
    file = tmp_path / "secret"
    file.write_text(given + "\n")
    file.chmod(0o444)  # as the secrets of a container are

    monkeypatch.setenv("HOMARUS_TOKEN_FILE", str(file))
    by_file = hub_token(tmp_path / "home")
    monkeypatch.delenv("HOMARUS_TOKEN_FILE")
    monkeypatch.setenv("HOMARUS_TOKEN", given)
    by_variable = hub_token(tmp_path / "home")

    assert by_file.reveal() == by_variable.reveal() == given
    assert not (tmp_path / "home").exists()
    assert stat.S_IMODE(file.stat().st_mode) == 0o444


def test_a_clients_token_in_the_environment_is_not_the_hubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hub_token(tmp_path)
    monkeypatch.setenv("HOMARUS_TOKEN", "homtok_" + os.urandom(32).hex())

    assert hub_token(tmp_path) == made


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"HOMARUS_TOKEN": "changeme"}, "HOMARUS_TOKEN"),
        ({"HOMARUS_TOKEN_FILE": "/nowhere/token"}, "HOMARUS_TOKEN_FILE names /nowhere/token, which cannot be read"),
        ({"HOMARUS_TOKEN_FILE": "/dev/null"}, "HOMARUS_TOKEN_FILE is not safe|HOMARUS_TOKEN_FILE.*empty"),
        ({"HOMARUS_TOKEN_FILE": __file__}, "which holds no token"),
        ({"HOMARUS_TOKEN_FILE": "/a", "HOMARUS_TOKEN": "b"}, "both set"),
    ],
)
def test_what_the_environment_gives_must_be_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], problem: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises((HubTokenError, WeakSecret), match=problem):
        hub_token(tmp_path)


def test_two_homes_have_two_tokens(tmp_path: Path) -> None:
    assert hub_token(tmp_path / "a") != hub_token(tmp_path / "b")


def test_processes_that_make_it_at_once_get_the_same_one(tmp_path: Path) -> None:
    script = f"from hub.security.hub_token import hub_token; print(hub_token({str(tmp_path)!r}).reveal())"
    running = [
        subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]

    said = {process.communicate(timeout=60)[0].strip() for process in running}

    assert len(said) == 1
    assert len(said.pop()) > 40


@pytest.mark.parametrize(
    "content", ["", "\n", "changeme", "change-me-please-change-me-please", "short", "a" * 64, "hunter2" * 3]
)
def test_a_token_that_keeps_nobody_out_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / ".storage" / "hub_token").write_text(content)

    with pytest.raises(WeakSecret, match="delete the file") as refused:
        hub_token(tmp_path)

    assert content.strip() == "" or content not in refused.value.message


@pytest.mark.parametrize(
    "content", [b"\xff\xfe" * 30, b"two words " * 10, b"line one is long enough 1234567890\nline two"]
)
def test_a_damaged_token_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / ".storage" / "hub_token").write_bytes(content)

    with pytest.raises(HubTokenError, match="damaged; delete it"):
        hub_token(tmp_path)


def test_a_token_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    token = hub_token(tmp_path)
    file = tmp_path / ".storage" / "hub_token"
    file.chmod(0o644)

    assert hub_token(tmp_path) == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_symlink_or_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / "other").write_text("x" * 20 + "abcdefghijklmnop1234567890")
    file = tmp_path / ".storage" / "hub_token"
    file.symlink_to(tmp_path / "other")
    with pytest.raises(HubTokenError):
        hub_token(tmp_path)
    file.unlink()
    os.mkfifo(file)

    with pytest.raises(HubTokenError, match="not a plain file"):
        hub_token(tmp_path)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("changeme", "placeholder"),
        ("CHANGE_ME", "placeholder"),
        ("your-token-here-your-token-here-123456", "placeholder"),
        ("Password123456", "placeholder"),
        ("correct horse", "fewer than"),
        ("ab" * 30, "different characters"),
    ],
)
def test_a_weak_secret_is_called_by_its_weakness(value: str, reason: str) -> None:
    assert reason in str(weakness(value))


def test_a_random_secret_is_not_weak() -> None:
    assert weakness("homtok_" + os.urandom(32).hex()) is None


def test_a_password_may_be_configured_as_its_argon2id_hash() -> None:
    hashed = PasswordHasher(1, 1024, 1).hash("correct horse battery")

    assert is_hash(hashed)
    assert verify_password(hashed, "correct horse battery")
    assert not verify_password(hashed, "correct horse batterz")


def test_a_password_in_the_secrets_file_is_compared_as_it_is() -> None:
    assert verify_password("correct horse battery", "correct horse battery")
    assert not verify_password("correct horse battery", "correct horse")


@pytest.mark.parametrize(
    "configured", ["", "$argon2id$", "$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA", "correct horse battery"]
)
@pytest.mark.parametrize("given", ["", "x" * 5000, "wrong", "$argon2id$"])
def test_empty_malformed_and_endless_passwords_are_never_right(configured: str, given: str) -> None:
    right = configured == given and configured != "" and not is_hash(configured)

    assert verify_password(configured, given) is right


@pytest.mark.parametrize("weak", ["", "password", "changeme123", "short"])
def test_a_weak_password_is_refused(weak: str) -> None:
    with pytest.raises(WeakSecret, match=r"http\.auth\.password is not safe"):
        refuse_weak_password(weak)


def test_nothing_heavy_is_imported_for_passwords() -> None:
    script = "import sys, hub.security.passwords; print('argon2' in sys.modules, 'cryptography' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
