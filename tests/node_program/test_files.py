"""A node shares one folder, and nothing beside it."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from node.backends.linux import LinuxBackend
from node.errors import NodeError
from node.files import SharedFiles
from node.home import NodeHome, NodeSettings
from node.offers import all_offers


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    (tmp_path / "secret").write_text("secret")
    (folder / "out").symlink_to(tmp_path)
    (folder / "secret").symlink_to(tmp_path / "secret")
    return folder


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_files_are_listed_read_and_written(shared: Path) -> None:
    files = SharedFiles(shared)

    listed = await files.list({})
    fetched = await files.fetch({"path": "a.txt"})
    written = await files.write({"path": "new/b.txt", "contentBase64": encoded("b"), "createParents": True})

    assert [each["name"] for each in listed["entries"]] == ["a.txt"]
    assert (fetched["base64"], fetched["size"], fetched["mimeType"]) == (encoded("hello"), 5, "text/plain")
    assert (shared / "new/b.txt").read_text() == "b"
    assert written["overwritten"] is False
    assert (await files.stat({"path": str(shared / "new/b.txt")}))["size"] == 1


@pytest.mark.parametrize("path", ["../secret", "secret", "out/secret", "/etc/passwd", "out/shared/../secret", "a\0b"])
async def test_nothing_beside_the_folder_is_reached(shared: Path, path: str) -> None:
    files = SharedFiles(shared)

    for command, more in ((files.fetch, {}), (files.stat, {}), (files.write, {"contentBase64": "", "overwrite": True})):
        with pytest.raises(NodeError) as refused:
            await command({"path": path, **more})
        assert refused.value.code in ("PATH_NOT_ALLOWED", "INVALID_PARAMS")
    assert (shared.parent / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"path": "a.txt", "contentBase64": "eA=="}, "FILE_EXISTS"),
        ({"path": "b.txt", "contentBase64": "?"}, "INVALID_PARAMS"),
        ({"path": ".", "contentBase64": "eA==", "overwrite": True}, "INVALID_PARAMS"),
        ({"path": "no/b.txt", "contentBase64": "eA=="}, "NOT_FOUND"),
    ],
)
async def test_a_write_that_cannot_be_is_refused(shared: Path, params: dict[str, Any], code: str) -> None:
    with pytest.raises(NodeError) as refused:
        await SharedFiles(shared).write(params)

    assert refused.value.code == code
    assert (shared / "a.txt").read_text() == "hello"


async def test_a_large_file_and_a_pipe_are_refused(shared: Path) -> None:
    os.mkfifo(shared / "pipe")

    for path, code in (("a.txt", "FILE_TOO_LARGE"), ("pipe", "INVALID_PARAMS")):
        with pytest.raises(NodeError) as refused:
            await SharedFiles(shared).fetch({"path": path, "maxBytes": 4})
        assert refused.value.code == code


def test_without_a_shared_folder_no_file_command_is_offered(tmp_path: Path) -> None:
    def offered(settings: NodeSettings) -> set[str]:
        return {each.command for each in all_offers(NodeHome(tmp_path), settings, LinuxBackend())}

    assert not {"file.fetch", "dir.list"} & offered(NodeSettings())
    assert {"file.fetch", "dir.list"} <= offered(NodeSettings(shared=str(tmp_path)))
    assert not {"camera.snap", "camera.list"} & offered(NodeSettings(deny=("camera.*",)))
