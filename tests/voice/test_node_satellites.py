"""A node with a microphone in a whole home: asked aloud, heard, and answered, through the real node program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.voice.contract import Stage
from node.cli import RunOptions, settled
from node.home import NodeHome
from tests.gateway.rig import connected
from tests.node_program.conftest import running_node
from tests.node_program.gateway_double import GatewayDouble
from tests.node_program.test_microphone import SoundPrograms
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import silence, speech, voice_home
from tests.voice.methods.test_talk import asked


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SoundPrograms:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return SoundPrograms(tmp_path / "bin")


async def test_a_node_is_asked_aloud_and_heard(
    tmp_path: Path, openai_server: OpenAIServer, sound: SoundPrograms
) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as hub, connected(hub) as owner:
        made = await asked(
            owner, "device.pair.setupCode", bootstrapProfile="node", publicUrl=hub.url.replace("http", "ws")
        )
        home = NodeHome(tmp_path / "node")
        options = RunOptions(pair=f"oc-pair://{made['setupCode']}", name="Kitchen", microphone="on")
        settings, credential = settled(home, options)
        home.keep(settings)
        async with running_node(home, GatewayDouble(), credential=credential) as node:
            await node.connected()
            await until(lambda: any(view.is_connected for view in hub.satellites.all()))
            (view,) = hub.satellites.all()
            hub.ears.hears.append("Tea, please")
            asking = asyncio.create_task(hub.satellites.ask(view.info.id, "Tea or coffee?"))
            await until(lambda: hub.satellites.all()[0].stage is Stage.LISTENING)
            sound.say(silence(0.3) + speech(0.8) + silence(1.2))
            answer = await asking
            device = hub.entities.registry.devices[view.info.device_id or ""]
        await until(lambda: not hub.satellites.all()[0].is_connected)

    assert answer == "Tea, please"
    assert (view.info.name, view.info.platform, view.info.always_sends) == ("Kitchen", "nodes", True)
    assert device.name == "Kitchen"
    assert sound.log("paplay")[0].endswith("--rate=22050 --latency-msec=100")
