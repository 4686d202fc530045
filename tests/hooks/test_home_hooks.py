"""Hooks of the home: off until enabled, pinned by their files, and refused where they cannot be trusted."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.errors import Conflict, Forbidden, HubError, InvalidRequest, NotFound
from hub.core.tasks import TaskOwner
from hub.hooks.component import BUNDLED
from hub.hooks.contract import BeforePromptBuild, CommandReceived
from hub.hooks.home_hooks import PINS_FILE, HomeHooks
from hub.hooks.registry import Hooks
from hub.skills.pins import SkillPins
from tests.hooks.test_merge import call, prompt

GREET = "def before_prompt_build(payload):\n    return {'append': 'hello'}\n"
GUARD = "---\ndescription: Looks after tools.\nevents: before_tool_call\n---\n"


class HookHome:
    """A home with a hook `greet`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.hooks = Hooks(TaskOwner("hooks"))
        self.found = HomeHooks(home / "hooks", SkillPins(home, PINS_FILE), self.hooks, lambda: None)
        (home / "hooks" / "greet").mkdir(parents=True)
        self.write("---\ndescription: Greets.\nevents: [before_prompt_build]\n---\n", "HOOK.md")
        self.write(GREET)

    def write(self, text: str, name: str = "handler.py") -> None:
        (self.home / "hooks" / "greet" / name).write_text(text)

    async def state(self) -> str:
        return (await self.found.get("greet")).state.value

    async def enable(self) -> Any:
        return await self.found.enable("greet", (await self.found.get("greet")).digest, 1)

    async def prompt(self) -> str:
        return (await self.hooks.modify(prompt())).append


@pytest.fixture
def home(tmp_path: Path) -> HookHome:
    return HookHome(tmp_path)


async def test_a_hook_is_off_until_it_is_enabled_and_after_it_is_disabled(home: HookHome) -> None:
    assert (await home.state(), await home.prompt()) == ("off", "")

    await home.enable()
    assert (await home.state(), await home.prompt()) == ("ready", "hello")

    await home.found.disable("greet")
    assert (await home.state(), BeforePromptBuild.hook in home.hooks.wanted) == ("off", False)


async def test_what_was_enabled_is_called_after_a_restart(home: HookHome) -> None:
    await home.enable()
    again = HookHome.__new__(HookHome)
    again.home, again.hooks = home.home, Hooks(TaskOwner("hooks"))
    again.found = HomeHooks(home.home / "hooks", SkillPins(home.home, PINS_FILE), again.hooks, lambda: None)

    await again.found.refresh()

    assert await again.prompt() == "hello"


@pytest.mark.parametrize("name", ["handler.py", "HOOK.md", "data/words.txt"])
async def test_a_change_of_any_file_switches_it_off(home: HookHome, name: str) -> None:
    await home.enable()
    path = home.home / "hooks" / "greet" / name
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write("\n")

    assert (await home.state(), await home.prompt()) == ("changed", "")
    await home.enable()
    assert (await home.state(), await home.prompt()) == ("ready", "hello")


async def test_only_what_was_looked_at_is_enabled(home: HookHome) -> None:
    digest = (await home.found.get("greet")).digest
    home.write(GREET.replace("hello", "give me your keys"))

    with pytest.raises(Conflict, match="have changed since you saw them"):
        await home.found.enable("greet", digest, 1)
    with pytest.raises(NotFound, match="there is no hook 'other'"):
        await home.found.enable("other", digest, 1)
    assert await home.state() == "off"


async def test_a_folder_that_goes_takes_its_handlers_along(home: HookHome) -> None:
    await home.enable()
    (home.home / "hooks" / "greet" / "handler.py").unlink()

    broken = await home.found.get("greet")

    assert (broken.state, broken.error, await home.prompt()) == ("broken", "handler.py is missing", "")
    with pytest.raises(InvalidRequest, match="the hook greet cannot be enabled"):
        await home.found.enable("greet", broken.digest, 1)


async def test_a_link_is_not_followed(home: HookHome, tmp_path: Path) -> None:
    (tmp_path / "hooks" / "greet" / "handler.py").unlink()
    (tmp_path / "hooks" / "greet" / "handler.py").symlink_to(tmp_path / "elsewhere.py")

    assert await home.state() == "broken"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def agent_end(payload): ...\n", "handler.py has no function before_prompt_build, which HOOK.md lists"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def (\n", "SyntaxError: "),
    ],
)
async def test_code_that_cannot_be_loaded_is_broken(home: HookHome, code: str, error: str) -> None:
    home.write(code)
    await home.enable()

    found = await home.found.get("greet")

    assert (found.state, await home.prompt()) == ("broken", "")
    assert found.error.startswith(error)


async def test_a_guard_that_cannot_be_loaded_refuses(home: HookHome) -> None:
    home.write(GUARD, "HOOK.md")
    home.write("import something_that_is_not_here\n")
    await home.enable()

    with pytest.raises(Forbidden, match="before_tool_call of hook greet failed"):
        await home.hooks.modify(call())


@pytest.mark.parametrize("change", ["edit", "other events", "no handler", "no HOOK.md", "gone", "a link"])
async def test_a_guard_that_was_changed_refuses_until_it_is_enabled_or_disabled(home: HookHome, change: str) -> None:
    folder = home.home / "hooks" / "greet"
    home.write(GUARD, "HOOK.md")
    home.write("def before_tool_call(payload): ...\n")
    await home.enable()
    assert (await home.hooks.modify(call())).block == ""

    if change == "edit":
        home.write("def before_tool_call(payload): return None\n")
    elif change == "other events":
        home.write("---\ndescription: Greets.\nevents: [agent_end]\n---\n", "HOOK.md")
    elif change == "no handler":
        (folder / "handler.py").unlink()
    elif change == "no HOOK.md":
        (folder / "HOOK.md").unlink()
    else:
        folder.rename(home.home / "elsewhere")
        if change == "a link":
            folder.symlink_to(home.home / "elsewhere")
    await home.found.refresh()

    with pytest.raises(Forbidden, match="before_tool_call of hook greet failed"):
        await home.hooks.modify(call())
    [found] = home.found.all()
    assert "until it is enabled again, or disabled, it refuses at before_tool_call" in found.error
    again = HomeHooks(home.home / "hooks", SkillPins(home.home, PINS_FILE), Hooks(TaskOwner("hooks")), lambda: None)
    await again.refresh()  # and after a restart
    assert again.all()[0].guards == ("before_tool_call",)

    await home.found.disable("greet")
    assert (await home.hooks.modify(call())).block == ""


async def test_a_guard_is_called_again_once_it_is_enabled_as_it_is_now(home: HookHome) -> None:
    home.write(GUARD, "HOOK.md")
    home.write("def before_tool_call(payload): ...\n")
    await home.enable()
    home.write("def before_tool_call(payload): return {'block': 'not now'}\n")
    await home.found.refresh()

    await home.enable()

    assert (await home.hooks.modify(call())).block == "not now"
    assert len(home.hooks.all()) == 1


async def bundled(tmp_path: Path) -> tuple[HomeHooks, Hooks]:
    """A home with the hooks that come with the hub."""
    hooks = Hooks(TaskOwner("hooks"))
    return HomeHooks(tmp_path / "hooks", SkillPins(tmp_path, PINS_FILE), hooks, lambda: None, bundled=BUNDLED), hooks


async def test_the_bundled_command_logger_writes_who_gave_a_command_but_not_its_arguments(tmp_path: Path) -> None:
    found, hooks = await bundled(tmp_path)
    look = await found.get("command-logger")
    assert (look.state, look.bundled) == ("off", True)
    await found.enable("command-logger", look.digest, 1)
    where = {"session_key": "agent:main:main", "agent_id": "main", "channel": "test", "sender": "test:user:7"}

    hooks.observe(CommandReceived(context=system_context(), name="model", arguments="my key", from_owner=True, **where))
    await hooks.drain(30)

    log = tmp_path / "logs" / "commands.log"
    [line] = map(json.loads, log.read_text().splitlines())
    assert line | {"time": ""} == {
        "time": "",
        "command": "model",
        "session_key": "agent:main:main",
        "agent": "main",
        "channel": "test",
        "sender": "test:user:7",
        "owner": True,
    }
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_folder_of_the_home_does_not_take_over_what_a_bundled_hook_was_allowed(tmp_path: Path) -> None:
    found, hooks = await bundled(tmp_path)
    await found.enable("command-logger", (await found.get("command-logger")).digest, 1)
    assert len(hooks.all()) == 1

    folder = tmp_path / "hooks" / "command-logger"
    folder.mkdir(parents=True)
    (folder / "HOOK.md").write_text("---\ndescription: Spies.\nevents: [llm_input]\n---\n")
    (folder / "handler.py").write_text("def llm_input(payload): ...\n")
    await found.refresh()

    assert (found.all()[0].state, found.all()[0].bundled, hooks.all()) == ("changed", False, [])


async def test_damaged_pins_call_nothing(home: HookHome) -> None:
    await home.enable()
    (home.home / PINS_FILE).write_text("{")
    again = HomeHooks(home.home / "hooks", SkillPins(home.home, PINS_FILE), home.hooks, lambda: None)

    with pytest.raises(HubError, match="is damaged"):
        await again.refresh()
    assert again.all() == []


async def test_damaged_pins_let_every_guard_of_the_home_refuse(home: HookHome) -> None:
    home.write(GUARD, "HOOK.md")
    (home.home / PINS_FILE).write_text("{")

    with pytest.raises(HubError, match="is damaged"):
        await home.found.refresh()
    with pytest.raises(Forbidden, match="before_tool_call of hook greet failed"):
        await home.hooks.modify(call())
