"""A hub whose home another one has taken over ends at once, with the code that tells a service manager so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.servers.hub_process import HubProcess
from tests.servers.postgresql import PostgresqlServer
from tests.storage.postgresql.conftest import Open

ELSEWHERE = 75
ASK = {"model": "homarus", "messages": [{"role": "user", "content": "hi"}], "user": "anna"}


async def test_it_ends_with_75_and_so_does_each_start_until_the_home_is_free(
    tmp_path: Path, server: PostgresqlServer, name: str, open_home: Open
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    storage = {"postgresql": {"url": server.url(name), "home": "elm"}}
    (home / "configuration.yaml").write_text(f"storage: {json.dumps(storage)}\n")
    hub = HubProcess(home)
    with hub:
        server.execute("SELECT pg_terminate_backend(backend::int) FROM homarus.owners", name)
        second = await open_home()
        hub.post("/v1/chat/completions", ASK)  # writes

        lost = hub.ended()
        hub.start(wait=False)
        refused = hub.ended()
        await second.close()
        hub.start()
        stopped = hub.stop()

    assert (lost, refused, stopped) == (ELSEWHERE, ELSEWHERE, 0)
    log = hub.log.read_text()
    assert "\nanother hub" in log
    assert "The hub cannot start: another hub" in log
