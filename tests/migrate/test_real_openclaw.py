"""A home that the real OpenClaw made moves in: its program writes the folder, ours reads it, the moved hub lives."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.clock import ManualClock
from tests.clients.npm import installed
from tests.e2e.talk import say
from tests.gateway.rig import Client, Device, client_of, connected
from tests.hub_fixture import HubFixture
from tests.lengths import LONG
from tests.servers.openai_server import OpenAIServer
from tests.servers.ports import free_port
from tests.until import as_time_passes

OPENCLAW = "2026.9.6"
NODE = "24.21.0"
TOKEN = "of-their-gateway"
START_LIMIT_S = 400.0
HOUR_S = 3_600
LONG_ANSWER = "The boiler is serviced in May. " * 60
SECTIONS = {
    "people": [{"id": "me", "name": "Me", "owner": True}],
    "memory": {"embeddings": {"provider": "none"}},
    "models": {"default": "auto"},
}

pytestmark = pytest.mark.skipif(not LONG, reason="starts OpenClaw, which takes minutes; script/test --long")


class TheirGateway:
    """OpenClaw over a folder of its own, on a port of its own; `url` and `token` are what its clients need."""

    def __init__(self, folder: Path, model: str) -> None:
        machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        self.node = installed(f"node-linux-{machine}", NODE) / "bin" / "node"
        self.program = installed("openclaw", OPENCLAW) / "openclaw.mjs"
        self.folder, self.model = folder, model
        self.state = folder / ".openclaw"
        self.log = folder / "gateway.log"
        self.port = free_port()
        self.url, self.token = f"http://127.0.0.1:{self.port}", TOKEN

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        self.folder.mkdir(exist_ok=True)
        variables = {
            "PATH": f"{self.node.parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "OPENCLAW_STATE_DIR": str(self.state),
            "OPENCLAW_SKIP_CHANNELS": "1",  # a bot of nobody's is not looked for in the net
            "NO_COLOR": "1",
        }
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                str(self.node), str(self.program), *arguments, env=variables, cwd=self.folder, stdout=log, stderr=log
            )

    async def onboard(self) -> None:
        """Set it up as a person does who is asked nothing."""
        model = ("--custom-base-url", self.model, "--custom-provider-id", "mine", "--custom-model-id", "test-model")
        key = ("--auth-choice", "custom-api-key", "--custom-api-key", "key-of-mine")
        gateway = ("--gateway-port", str(self.port), "--gateway-auth", "token", "--gateway-token", TOKEN)
        skipped = [f"--skip-{each}" for each in ("daemon", "health", "search", "skills", "hooks", "ui", "channels")]
        process = await self.start("onboard", "--non-interactive", "--accept-risk", *key, *model, *gateway, *skipped)
        assert await asyncio.wait_for(process.wait(), START_LIMIT_S) == 0, self.log.read_text()[-2_000:]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Client]:
        """Run its gateway; the client is its owner."""
        process = await self._started()
        try:
            async with connected(self, scopes=["operator.admin", "operator.write", "operator.pairing"]) as client:
                yield client
        finally:
            if process.returncode is None:
                process.terminate()
            await asyncio.wait_for(process.wait(), START_LIMIT_S)

    async def _started(self) -> asyncio.subprocess.Process:
        """Start its gateway until it answers; on a busy machine it gives up after five seconds."""
        async with asyncio.timeout(START_LIMIT_S):
            while True:
                process = await self.start("gateway", "run", "--port", str(self.port))
                while process.returncode is None:
                    if await self._answers():
                        return process
                    await asyncio.sleep(0.5)

    async def _answers(self) -> bool:
        try:
            async with client_of(self) as client:
                return bool((await client.connect(token=TOKEN))["ok"])
        except (aiohttp.ClientError, OSError, TypeError):
            return False


async def done(client: Client, method: str, **params: Any) -> dict[str, Any]:
    answer = await client.call(method, params)
    assert answer["ok"], answer
    return dict(answer["payload"])


async def configure(client: Client, **changes: Any) -> None:
    base = (await done(client, "config.get"))["hash"]
    await done(client, "config.patch", raw=json.dumps(changes), baseHash=base)


async def live_in(theirs: TheirGateway, server: OpenAIServer) -> None:
    """Use it for a while: agents, a channel with people, jobs, a webhook, a device, conversations."""
    workspace = theirs.state / "workspace"
    files = {
        "memory/2026-05-12.md": "- Bought tea.\n",
        "MEMORY.md": "- The boiler is old.\n",
        "skills/tea/SKILL.md": "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n",
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3 * HOUR_S))
    async with theirs.running() as client:
        server.queue(LONG_ANSWER)
        assert await say(client, "When is the boiler serviced?", "run-1", "agent:main:main") == LONG_ANSWER.strip()
        await done(client, "agents.create", name="Work", workspace=str(theirs.state / "workspace-work"))
        job = {"sessionTarget": "main", "wakeMode": "now"}
        at = {"kind": "at", "at": soon}
        await done(client, "cron.add", name="Tea", schedule=at, payload={"kind": "systemEvent", "text": "Tea!"}, **job)
        turn = {"kind": "agentTurn", "message": "What is up?"}
        cron = {"kind": "cron", "expr": "0 7 * * 1-5", "tz": "Europe/Berlin"}
        await done(client, "cron.add", name="Up", schedule=cron, payload=turn, sessionTarget="isolated", wakeMode="now")
        device = Device()
        async with client_of(theirs) as phone:
            role: dict[str, Any] = {
                "client": {"id": "node-host", "version": OPENCLAW, "platform": "linux", "mode": "node"}
            }
            await phone.connect(device, token=TOKEN, role="node", scopes=[], **role)
    async with theirs.running() as client:  # what changes the configuration restarts it
        telegram = {"botToken": "123456:ABCDEFGHIJK", "dmPolicy": "allowlist", "allowFrom": ["111"]}
        mapping = {"id": "bell", "match": {"path": "bell"}, "action": "wake"}
        hooks = {"enabled": True, "token": "of-their-hooks", "mappings": [mapping]}
        await configure(client, channels={"telegram": telegram}, hooks=hooks)


@pytest.mark.timeout(2_400)
async def test_a_home_that_openclaw_made_moves_in_and_lives(tmp_path: Path, openai_server: OpenAIServer) -> None:
    theirs = TheirGateway(tmp_path / "theirs", openai_server.base_url)
    await theirs.onboard()
    await live_in(theirs, openai_server)
    before = {each: each.read_bytes() for each in theirs.state.rglob("*.sqlite*") if each.is_file()}

    clock = ManualClock(time.time())
    wanted = {"source": "openclaw", "path": str(theirs.state), "secrets": True}
    async with (
        HubFixture(tmp_path / "home", "http://127.0.0.1:9/v1", sections=SECTIONS, clock=clock) as hub,
        connected(hub) as owner,
    ):
        plan = await done(owner, "migrate.plan", **wanted)
        done_move = await done(owner, "migrate.apply", **wanted, digest=plan["digest"])

        assert {each: each.read_bytes() for each in before} == before, "their folder is only read"
        assert done_move["errors"] == []
        telegram = [each for each in hub.config.errors if each.path.startswith("telegram")]
        assert hub.config.errors == telegram, "this hub is built without that channel"
        verdicts = {(each["kind"], each["name"]): each["verdict"] for each in done_move["items"]}
        assert {verdicts["provider", "mine"], verdicts["agent", "work"], verdicts["skill", "tea"]} == {"taken"}
        assert verdicts["sender", "telegram: telegram:user:111"] == "taken"
        assert verdicts["webhook", "bell"] == "left"
        assert [each for each in verdicts if each[0] == "device"], "a device that was paired there is named"
        taken = {name for (kind, name), verdict in verdicts.items() if (kind, verdict) == ("job", "taken")}
        assert taken == {"Tea", "Up"}, "and none of those that OpenClaw made for itself"
        workspace = hub.home.path / "workspace"
        assert (workspace / "SOUL.md").read_text() == (theirs.state / "workspace/SOUL.md").read_text()
        assert (workspace / "memory/2026-05-12.md").read_text() == "- Bought tea.\n"

        (session,) = [each for each in hub.sessions.list("main") if ":openclaw:" in each.key]
        said = (await hub.sessions.open_transcript(session)).messages()
        assert [each.text for each in said] == ["When is the boiler serviced?", LONG_ANSWER.strip()]

        openai_server.queue("I am here.")
        assert await say(owner, "Are you there?", "run-2") == "I am here."
        openai_server.set_default("Tea is made.")
        asked = len(openai_server.requests())

        def reminded() -> bool:
            return any("Tea!" in json.dumps(each["body"]) for each in openai_server.requests()[asked:])

        await as_time_passes(clock, HOUR_S, reminded)
