"""What a hub says is in force is in force, also when it noticed the change by itself a moment before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hub.config.seed import seed
from hub.hub import Hub
from hub.storage.homedir import Home


async def test_a_reload_waits_for_the_one_that_met_the_change_first(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    hub = Hub(home, port=0)
    try:
        await hub.start()
        (home.path / "automations.yaml").write_text("- {id: new, triggers: [], actions: [{delay: 1}]}\n")
        met = await hub.config.reload()
        again = await hub.config.reload()
        first = asyncio.create_task(hub.apply(met))
        await asyncio.sleep(0)

        await hub.apply(again)

        assert again.changed == set()
        assert hub.automation.automations.status("new").state == "on"
        await first
    finally:
        await hub.stop()
