"""`script/release` tags only what is clean, described, checked and built."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
UV = """#!/bin/sh
case "$1" in
    build) mkdir dist; touch dist/homarus.whl ;;
    venv) mkdir -p "${{5}}/bin" ;;
    pip) printf '#!/bin/sh\\necho "homarus {built}"\\n' > "${{5%python}}homarus"; chmod +x "${{5%python}}homarus" ;;
esac
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, *, heading: str = "## 3.1.4 (2026-11-24)", checks: int = 0, built: str = "3.1.4") -> Path:
    """Return a checkout of version 3.1.4 whose checks end as said, and whose package says its version as said."""
    files = {
        "hub/__init__.py": '__version__ = "3.1.4"\n',
        "CHANGELOG.md": f"# Changelog\n\n{heading}\n",
        ".gitignore": "/.venv/\n/dist/\n",
        ".ci/run": f"#!/bin/sh\nexit {checks}\n",
        ".venv/bin/uv": UV.format(built=built),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "script").mkdir()
    shutil.copy(CHECKOUT / "script/release", folder / "script/release")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def release(folder: Path) -> tuple[int, str]:
    # A release of a person needs their name for the tag.
    env = {"PATH": "/usr/bin:/bin", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    done = subprocess.run([folder / "script/release"], env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_version_that_is_checked_and_built_is_tagged(tmp_path: Path) -> None:
    folder = repository(tmp_path)

    assert release(folder)[0] == 0
    assert git(folder, "tag").split() == ["v3.1.4"]
    code, told = release(folder)
    assert (code, "v3.1.4 is there already" in told) == (1, True)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"heading": "## 3.1.4 (unreleased)"}, "no section '## 3.1.4 (YYYY-MM-DD)'"),
        ({"heading": "## 3.1.3 (2026-11-24)"}, "no section"),
        ({"built": "3.1.3"}, "says that it is 'homarus 3.1.3'"),
        ({"checks": 1}, ""),
    ],
)
def test_what_is_not_described_checked_and_built_is_not_tagged(
    tmp_path: Path, state: dict[str, object], told: str
) -> None:
    folder = repository(tmp_path, **state)  # type: ignore[arg-type]

    code, said = release(folder)

    assert (code, told in said, git(folder, "tag")) == (1, True, "")


def test_what_is_not_committed_is_not_released(tmp_path: Path) -> None:
    folder = repository(tmp_path)
    (folder / "new").touch()

    assert "not committed" in release(folder)[1]
    assert git(folder, "tag") == ""
