"""What Zigbee2MQTT announces for every model that it knows is taken here as Home Assistant takes it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.core.errors import HubError
from integrations.devices.mqtt.discovery.announcement import read_announcement
from integrations.devices.mqtt.discovery.discovery import FAMILIES, REPORTED
from integrations.devices.mqtt.discovery.light import light_family
from integrations.devices.mqtt.discovery.values import PayloadTemplates
from tests.clients.npm import installed
from tests.lengths import LONG

HERE = Path(__file__).parent
ZIGBEE2MQTT, HOME_ASSISTANT = "2.14.1", "2024.3.3"
LAGS_BEHIND = "DeviceClass or one of"
"""What that Home Assistant refuses for a device class that came after it."""

ANNOUNCES = re.compile(r"[\w/-]+", re.ASCII)
"""Home Assistant passes over other topics, before its schemas see them."""

pytestmark = [
    pytest.mark.skipif(not LONG, reason="script/test --long installs Zigbee2MQTT and Home Assistant"),
    pytest.mark.timeout(1_200),
]


@pytest.fixture(scope="module")
def announcements(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return a line of JSON for each announcement: topic and payload."""
    modules = installed("zigbee2mqtt", ZIGBEE2MQTT).parent
    program = HERE / "zigbee2mqtt_corpus.js"
    said = subprocess.run(
        ["node", str(program), str(modules), str(tmp_path_factory.mktemp("zigbee2mqtt"))],
        check=True,
        capture_output=True,
        text=True,
    )
    return said.stdout.splitlines()


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with Home Assistant, which nothing else uses."""
    folder = tmp_path_factory.mktemp("home_assistant")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", f"homeassistant=={HOME_ASSISTANT}"]
    subprocess.run([*pip, "paho-mqtt<2", "fnv-hash-fast", "numpy", "pillow"], check=True)
    return folder / "bin" / "python"


def test_what_home_assistant_takes_is_taken(announcements: list[str], judge: Path) -> None:
    program = str(HERE / "home_assistant_judge.py")
    text = "\n".join(announcements)
    theirs = subprocess.run([str(judge), program], input=text, check=True, capture_output=True, text=True)
    verdicts = [json.loads(line) for line in theirs.stdout.splitlines()]
    ours = list(_refusals(announcements))

    assert len(verdicts) == len(ours) > 30_000
    differing = [
        (json.loads(line)[0], our, their)
        for line, our, their in zip(announcements, ours, verdicts, strict=True)
        if their is not None
        and ANNOUNCES.fullmatch(json.loads(line)[0])
        and bool(our) != bool(their)
        and LAGS_BEHIND not in their
    ]
    assert differing == []


def _refusals(announcements: list[str]) -> Iterator[str]:
    templates = PayloadTemplates(Clock(), lambda: UTC)
    for line in announcements:
        topic, payload = json.loads(line)
        try:
            announcement = read_announcement(topic, payload.encode(), "homeassistant")
            for each in announcement.components:
                if each.component == "light":
                    light_family(each.config)
                assert each.component in (*FAMILIES, *REPORTED, "light"), each.component
                for key, value in each.config.items():
                    if key.endswith("template") and value:
                        templates.reader(value, key)
        except (HubError, AssertionError) as error:
            yield str(error)
        else:
            yield ""
