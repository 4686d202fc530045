from __future__ import annotations

import gzip
import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from web.core.assets import STATIC_DIR, Assets, minify

TEST_DIR = Path(__file__).parents[1]
FRONTEND_DIR = STATIC_DIR.parent / "frontend"
SCRIPT_BUDGET_BYTES = 50_000
STYLE_BUDGET_BYTES, STYLE_BUDGET_COMPRESSED = 45_000, 9_000

LOCKS = [(STATIC_DIR / "assets.lock.json", STATIC_DIR / "vendor"), (TEST_DIR / "assets.lock.json", TEST_DIR / "vendor")]


@pytest.mark.parametrize(("lock_file", "folder"), LOCKS)
def test_vendor_files_are_those_of_the_lock(lock_file: Path, folder: Path) -> None:
    lock = json.loads(lock_file.read_text())["files"]

    found = {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file() and path.suffix not in (".gz", ".br")
    }

    assert found == {name: facts["sha256"] for name, facts in lock.items()}


@pytest.mark.parametrize(("lock_file", "folder"), LOCKS)
def test_each_vendor_file_names_its_packages_and_keeps_their_licences(lock_file: Path, folder: Path) -> None:
    lock = json.loads(lock_file.read_text())["files"]

    packages = [package for facts in lock.values() for package in facts["packages"]]

    assert packages
    for package in packages:
        assert package["version"]
        assert package["licence"]
        assert (folder / package["licence_file"]).read_text().strip()


def test_compressed_siblings_hold_what_they_stand_for() -> None:
    for path in [each for each in (STATIC_DIR / "vendor").iterdir() if each.suffix in (".js", ".css", ".svg")]:
        assert gzip.decompress(path.with_name(path.name + ".gz").read_bytes()) == path.read_bytes()
        assert path.with_name(path.name + ".br").stat().st_size < path.stat().st_size / 2


def test_the_lock_of_the_frontend_names_no_registry() -> None:
    lock = (FRONTEND_DIR / "package-lock.json").read_text()

    assert '"resolved"' not in lock


def test_the_frontend_pins_the_versions_of_the_lock() -> None:
    wanted = json.loads((FRONTEND_DIR / "package.json").read_text())["devDependencies"]
    locks = [json.loads(lock_file.read_text())["files"] for lock_file, _ in LOCKS]

    used = {
        package["name"]: package["version"]
        for lock in locks
        for facts in lock.values()
        for package in facts["packages"]
    }

    assert {name: version for name, version in wanted.items() if name != "esbuild"}.items() <= used.items()


def test_scripts_of_a_page_without_an_editor_stay_within_their_budget() -> None:
    pages = {
        "chat": ["chat.js", "commands.js", "attach.js", "talks.js"],
        "home": ["pulse.js", "home.js", "commands.js", "attach.js", "tiles.js"],
        "login": ["login.js"],
        "a form": ["fields.js"],
        "memory, runs": ["pulse.js"],
        "memory, edited": ["memory_edit.js"],
    }
    frame = ["app.js", "live.js", "keys.js", "palette.js", "texts.js", "ui.js", "vendor/htmx.js", "vendor/lit.js"]

    sizes = {
        page: sum(len(gzip.compress((STATIC_DIR / name).read_bytes(), 6)) for name in [*frame, *own])
        for page, own in pages.items()
    }

    assert all(size < SCRIPT_BUDGET_BYTES for size in sizes.values()), sizes


def test_the_style_sheet_stays_within_its_budget() -> None:
    sheet = (STATIC_DIR / "app.css").read_bytes()

    assert len(sheet) <= STYLE_BUDGET_BYTES
    assert len(gzip.compress(minify(sheet), 9)) <= STYLE_BUDGET_COMPRESSED


def test_only_tokens_hold_colours_and_no_selector_counts_buttons() -> None:
    sheet = (STATIC_DIR / "app.css").read_text()
    tokens, rest = sheet.split("@layer base {")

    assert "light-dark(" in tokens
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;, )])|\b(?:rgb|hsl|oklch|light-dark|color-mix)a?\(", rest) == []
    assert re.findall(r"(?:button|\.button)[^{};]*:(?:first|last|nth)-[a-z-]+", rest) == []


def test_pages_beside_the_dashboard_have_its_tokens() -> None:
    token = re.compile(r"(--[a-z0-9-]+): ([^;]+);")
    ours = dict(token.findall((STATIC_DIR / "app.css").read_text()))
    root = STATIC_DIR.parents[1] / "integrations"

    for path in (root / "nodes" / "phone" / "phone.css", root / "channels" / "webchat_page" / "page.css"):
        theirs = dict(token.findall(path.read_text()))
        theirs.pop("--control")  # always for a finger
        assert theirs
        assert theirs.items() <= ours.items()


def test_no_static_file_of_ours_names_an_outside_address() -> None:
    ours = [path for path in STATIC_DIR.glob("*") if path.suffix in {".js", ".css"}]

    assert ours
    for path in ours:
        assert "http://" not in path.read_text()
        assert "https://" not in path.read_text()


def test_a_changed_file_changes_all_addresses(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1")
    (tmp_path / "b.js").write_text("2")
    before = Assets(tmp_path).url("a.js")
    (tmp_path / "b.js").write_text("3")

    after = Assets(tmp_path).url("a.js")

    assert before != after


def test_a_file_that_is_not_there_has_no_address(tmp_path: Path) -> None:
    (tmp_path / "secret.pem").write_text("x")

    with pytest.raises(KeyError):
        Assets(tmp_path).url("secret.pem")


def test_scripts_are_valid_modules() -> None:
    node = subprocess.run(["which", "node"], capture_output=True, check=False)
    if node.returncode != 0:
        pytest.skip("node is not installed; the browser tests load the scripts too")
    for path in STATIC_DIR.glob("*.js"):
        checked = subprocess.run(
            ["node", "--input-type=module", "--check"], input=path.read_bytes(), capture_output=True, check=False
        )
        assert checked.returncode == 0, f"{path.name}: {checked.stderr.decode()}"
