"""A thousand MQTT entities that change two thousand times a second, at mosquitto: the hub's processor and its loop.

Behind it the rows of `mqtt_triggers`: automations that MQTT sets off.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiomqtt

from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.mqtt_triggers import measure_triggers
from tests.benchmarks.table import Row, row
from tests.servers.mosquitto import Mosquitto

ENTITIES = 1_000
DEVICES = 100
CHANGES_PER_S = 2_000
MEASURED_S = 20
LATE_GOAL_MS = 20
PROBE = Path(__file__).with_name("hub_probe")
SENDER = "from tests.benchmarks.mqtt import send; import asyncio, sys; asyncio.run(send(int(sys.argv[1])))"


def measure() -> list[Row]:
    """Announce the entities, and let another process change their values."""
    with empty_home() as home, Mosquitto() as broker:
        (home / "custom_integrations").mkdir(parents=True)
        shutil.copytree(PROBE, home / "custom_integrations" / "hub_probe")
        (home / "configuration.yaml").write_text(
            "hub: {name: Bench}\nhub_probe: {}\nmodels: {default: offline/rules}\n"
            f"mqtt: {{broker: 127.0.0.1, port: {broker.port}}}\n"
        )
        asyncio.run(announce(broker.port))
        with BenchHub(home) as hub:
            while len(hub.rpc("mqtt.discovered")["entities"]) < ENTITIES:
                time.sleep(0.2)
            for _ in range(5):  # what the first calls import is no matter of MQTT
                _loop(hub)
                time.sleep(1)
            received = int(hub.rpc("mqtt.status")["received"])
            used, begun = _cpu_s(hub.pid), time.monotonic()
            subprocess.run((sys.executable, "-c", SENDER, str(broker.port)), check=True, timeout=MEASURED_S * 3)
            used, took = _cpu_s(hub.pid) - used, time.monotonic() - begun
            found = _loop(hub)
            came = int(hub.rpc("mqtt.status")["received"]) - received
    sys.stderr.write("".join(f"  {each}\n" for each in found["places"]))
    what = f"mqtt: {ENTITIES} entities, {came / took:.0f} changes a second"
    return [
        row(f"{what}: processor", "cores", [used / took], "< 1"),
        row(f"{what}: longest hold of the loop", "ms", [found["late_ms"]], f"< {LATE_GOAL_MS}"),
        row(f"{what}: longest computation", "ms", [found["computed_ms"]], f"< {LATE_GOAL_MS}"),
        *measure_triggers(),
    ]


async def announce(port: int) -> None:
    """Publish the announcements, retained."""
    each = ENTITIES // DEVICES
    async with aiomqtt.Client("127.0.0.1", port) as client:
        for device in range(DEVICES):
            components = {
                f"s{n}": {
                    "p": "sensor",
                    "uniq_id": f"d{device}_s{n}",
                    "name": f"Value {n}",
                    "unit_of_meas": "W",
                    "stat_t": f"bench/{device}/{n}",
                    "val_tpl": "{{ value_json.power }}" if n % 2 else "{{ value_json.power | float | round(1) }}",
                }
                for n in range(each)
            }
            said = {"dev": {"ids": [f"d{device}"], "name": f"Device {device}"}, "o": {"name": "bench"}}
            payload = json.dumps(said | {"cmps": components})
            await client.publish(f"homeassistant/device/d{device}/config", payload, qos=1, retain=True)


async def send(port: int) -> None:
    """Change one value after the other at an even pace; run in a process of its own."""
    each = ENTITIES // DEVICES
    async with aiomqtt.Client("127.0.0.1", port) as client:
        begun, sent = time.monotonic(), 0
        while sent < CHANGES_PER_S * MEASURED_S:
            due = int((time.monotonic() - begun) * CHANGES_PER_S)
            while sent < due:
                topic = f"bench/{sent % DEVICES}/{sent // DEVICES % each}"
                await client.publish(topic, json.dumps({"power": sent / 10, "linkquality": sent % 255}))
                sent += 1
            await asyncio.sleep(0.002)


def _loop(hub: BenchHub) -> dict[str, Any]:
    found = hub.rpc("service.call", {"service": "hub_probe.loop", "data": {}})["response"]
    return dict(found)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
