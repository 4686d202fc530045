"""The nightly tidy-up in a whole hub: the automation runs, the memory is tidied up, and the owner hears of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.security_review.besieged import WAIT_LIMIT_S, besieged
from tests.servers.openai_server import OpenAIServer

AUTOMATION = """\
automation:
  - id: tidy
    alias: Tidy
    use_blueprint:
      path: homarus/memory_tidy.yaml
      input: {announce: "platform:1"}
"""
MEMORY = """\
# Memory

## Decisions

- We paint the fence 2 times a year
  _decision · 2026-05-01 10:00 · from me in `agent:main:main`_
- We paint the fence 3 times a year
  _decision · 2026-05-02 10:00 · from me in `agent:main:main`_
- 安娜对坚果过敏
  _person · 2026-05-02 10:00 · from me in `agent:main:main`_
- 安娜对坚果过敏。
  _person · 2026-05-03 10:00 · from me in `agent:main:main`_
"""


async def test_the_owner_hears_what_was_done_and_what_is_to_be_settled(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.rule("Compare these", '{"answers": ["contradicts"]}')
    async with besieged(tmp_path / "home", openai_server, more=AUTOMATION, remembers=True) as home:
        (home.workspace / "MEMORY.md").write_text(MEMORY)

        await home.rpc("automation.trigger", {"id": "tidy"})
        async with asyncio.timeout(WAIT_LIMIT_S):
            while not home.platform.sent:  # noqa: ASYNC110  the platform is a plain list
                await asyncio.sleep(0.01)

        [message] = home.platform.sent
        [change] = (await home.rpc("memory.changes", {}))["changes"]
        cost = home.hub.automation.spending.tokens(since=0, automation="tidy")
    assert message.text.startswith("Memory: Struck 1 that was there twice or outdated, 1 contradiction to be settled.")
    assert "- We paint the fence 2 times a year (MEMORY.md)" in message.text
    assert "~~安娜对坚果过敏~~" in change["diff"]
    assert cost > 0
