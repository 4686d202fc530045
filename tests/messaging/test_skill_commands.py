"""Skills in chat: /skill, skills as commands, those that call a tool, and what a group is limited to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupPolicy, GroupSettings
from hub.skills.commands import SkillCommandNeeds, add_skill_commands, dispatched_arguments
from hub.skills.registry import EVENT_SKILLS_CHANGED
from tests.agent.house import READ_ONLY, TEXT
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer
from tests.skills.skill_home import SkillHome

GROUPS = {"family": GroupSettings(allow=True, skills=("tea",))}
ACCESS = AccessPolicy(dm=DmPolicy.OPEN, group=GroupPolicy.ALLOWLIST, groups=GROUPS, require_mention=False)


class SkillPost(Post):
    """A channel, and skills behind it: tea, cake and one that calls a tool."""

    def __init__(self, folder: Path, base_url: str) -> None:
        super().__init__(folder / "home", base_url, access=ACCESS)
        self.skill_home = home = SkillHome(folder / "skills")
        home.write("bundled/tea", "Make tea.")
        home.write("bundled/big-cake", "Bake a cake. Use it on birthdays.")
        home.write("bundled/hidden", "For the model.", "user-invocable: false")
        home.write("bundled/echo", "Say it.", "command-dispatch: tool\ncommand-tool: say_again")
        home.write("bundled/lost", "Say it.", "command-dispatch: tool\ncommand-tool: no_such_tool")
        self.runner.use_skills(home.skills)
        self.tool("say_again", lambda call: f"again: {call.arguments['text']}", READ_ONLY, TEXT)

        def group_skills(address: object) -> tuple[str, ...] | None:
            group = self.router.group_settings(address)  # type: ignore[arg-type]
            return group.skills if group is not None else None

        needs = SkillCommandNeeds(home.skills, self.agents, self.tools, self.redactor, group_skills)
        offered = add_skill_commands(self.commands, needs)
        home.bus.listen(EVENT_SKILLS_CHANGED, lambda _: offered.update())


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[SkillPost]:
    post = SkillPost(tmp_path, openai_server.base_url)
    await post.open()
    await post.skill_home.skills.refresh()
    yield post
    await post.close()


@pytest.mark.parametrize("text", ["/skill tea for two", "/tea for two", "/skill TEA for two"])
async def test_a_skill_is_run_by_the_agent_in_the_words_of_the_sender(
    post: SkillPost, openai_server: OpenAIServer, text: str
) -> None:
    await post.said(text)
    await post.until(lambda: post.pigeons.texts() == ["ok"])

    (request,) = openai_server.requests()
    system, *_, asked = request["body"]["messages"]
    assert "Use the skill tea: read it first" in str(asked["content"])
    assert "for two" in str(asked["content"])
    assert "- tea: Make tea.\n" in system["content"] + "\n"
    assert "- hidden: For the model." in system["content"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/skill", "- big-cake: Bake a cake. Use it on birthdays."),
        ("/skill big_cak", "Did you mean big-cake?"),
        ("/skill hidden", "There is no skill hidden"),
        ("/hidden", "There is no command /hidden"),
        ("/echo one  two", "again: one  two"),
        ("/skill echo x", "again: x"),
        ("/lost x", "needs the tool no_such_tool"),
        ("/help", "/big_cake: Bake a cake\n"),
    ],
)
async def test_what_needs_no_model_is_answered_at_once(
    post: SkillPost, openai_server: OpenAIServer, text: str, told: str
) -> None:
    receipt = await post.said(text)

    assert told in (receipt.reply or "")
    assert openai_server.requests() == []


async def test_strangers_run_no_skill(post: SkillPost) -> None:
    receipt = await post.said("/echo x", who="9")

    assert receipt.reply == "/echo is for the people of this home."


async def test_a_group_has_only_its_skills_in_prompt_and_commands(post: SkillPost, openai_server: OpenAIServer) -> None:
    refused = await post.said("/big_cake", who="8", group="family")
    await post.said("hello", who="8", group="family")
    await post.until(lambda: post.pigeons.texts("family")[-1:] == ["ok"])

    assert "There is no skill big-cake" in (refused.reply or "")
    system = openai_server.requests()[-1]["body"]["messages"][0]["content"]
    assert "- tea: Make tea." in system
    assert "big-cake" not in system


async def test_commands_follow_the_skills_and_never_take_the_name_of_another(post: SkillPost) -> None:
    post.skill_home.write("home/status")
    post.skill_home.write("home/juice")
    for name in ("status", "juice"):
        post.skill_home.pin("home", name)
    await post.skill_home.skills.refresh()
    status = await post.said("/status")
    assert post.commands.get("juice") is not None

    (post.skill_home.folder / "home" / "juice" / "SKILL.md").write_text("gone")
    await post.skill_home.skills.refresh()

    assert "Session:" in (status.reply or "")
    assert post.commands.get("juice") is None
    assert post.commands.get("tea") is not None


def test_a_tool_gets_what_it_takes_of_what_a_command_passes() -> None:
    text = {"type": "string"}

    assert dispatched_arguments({"properties": {"command": text, "skillName": text}}, "a b", "x", "y") == {
        "command": "a b",
        "skillName": "y",
    }
    assert dispatched_arguments({"properties": {"query": text, "n": {}}, "required": ["query"]}, "a", "x", "y") == {
        "query": "a"
    }
    assert dispatched_arguments({"properties": {}}, "a", "x", "y") == {}
