"""Pictures that a message names: found in its text, shown to the model, and to nobody who may not read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.agent.named_pictures import PICTURE_LIMIT_BYTES, named_pictures
from hub.core.context import Authority, ToolPolicy
from integrations.tools.files.session_files import SessionFiles
from integrations.tools.files.tool import file_tools
from integrations.tools.files.undoing import UndoStore
from tests.agent.house import AgentHouse
from tests.servers.openai_server import OpenAIServer

PIXEL = b"\x89PNG\r\n\x1a\n" + b"\x00" * 60
STRANGER = Authority("peer:test:user:9")


class Album(AgentHouse):
    """A house whose model sees images, with the tools for files."""

    server: OpenAIServer

    def __init__(self, folder: Path, base_url: str) -> None:
        models = [{"id": "model", "context_window": 32_768, "images": True}]
        provider = {"api": "openai", "base_url": base_url, "api_key": "sk-test-not-a-secret", "models": models}
        super().__init__(folder, base_url, models={"providers": {"test": provider}})
        undo = UndoStore(folder / "undo")
        for tool in file_tools(SessionFiles(self.workspaces.view, self.workspaces.outside, undo, self.egress.reader)):
            self.tools.register(tool)
        self.workspaces.ensure("main")
        self.folder = self.agents.get("main").workspace

    async def shown(self, text: str, authority: Authority | None = None) -> int:
        """Return how many pictures the model was shown with a message."""
        await self.runner.run(self.request(text, authority=authority))
        content = self.server.requests()[-1]["body"]["messages"][-1]["content"]
        return 0 if isinstance(content, str) else sum(part["type"] == "image_url" for part in content)


@pytest.fixture
async def album(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Album]:
    album = Album(tmp_path / "home", openai_server.base_url)
    album.server = openai_server
    await album.open()
    (album.folder / "photos").mkdir()
    (album.folder / "photos/the door.PNG").write_bytes(PIXEL)
    (album.folder / "cat.png").write_bytes(PIXEL)
    yield album
    await album.close()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at photos/door.jpg, please", ["photos/door.jpg"]),
        ("is `photos/the door.PNG` open?", ["photos/the door.PNG"]),
        ("看看 照片/猫.webp，好吗", ["照片/猫.webp"]),
        ("看“我的 猫.gif”", ["我的 猫.gif"]),
        ("a.png and a.png (and b.jpeg).", ["a.png", "b.jpeg"]),
        ("the format .png, a.pngx and door.txt", []),
    ],
)
def test_names_of_pictures_are_found_in_a_text(text: str, names: list[str]) -> None:
    assert named_pictures(text) == names


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("is `photos/the door.PNG` open, and is cat.png there?", 2),
        ("what of dog.png?", 0),
        ("what of ../secret.png and /etc/x.png?", 0),
        ("what of text.png?", 0),
        ("what of large.png?", 0),
    ],
)
async def test_a_picture_that_a_message_names_is_shown_with_it(album: Album, text: str, count: int) -> None:
    (album.folder.parent / "secret.png").write_bytes(PIXEL)
    (album.folder / "text.png").write_text("no picture")
    (album.folder / "large.png").write_bytes(PIXEL.ljust(PICTURE_LIMIT_BYTES + 1, b"x"))

    assert await album.shown(text) == count


async def test_who_may_not_read_files_is_shown_no_picture_by_naming_it(album: Album) -> None:
    denied = album.people.owner_authority().narrow(policy=ToolPolicy(deny=frozenset({"read"})))

    assert await album.shown("cat.png", denied) == 0
    assert await album.shown("cat.png", STRANGER) == 0
    assert await album.shown("cat.png") == 1


async def test_a_picture_from_outside_is_left_to_the_tools(album: Album) -> None:
    album.workspaces.outside.mark("main", "cat.png", PIXEL)

    assert await album.shown("cat.png") == 0
