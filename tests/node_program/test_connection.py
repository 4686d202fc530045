"""A node pairs, comes back, answers what it is asked, and shows its secrets to nobody else."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
from pathlib import Path

import pytest

from hub.core.context import SCOPES, Authority
from node.connection import NodeCredential
from node.home import NodeHome, NodeProblem, NodeSettings, check_url, read_setup_code
from node.identity import identity_of
from tests.gateway.rig import running
from tests.node_program.conftest import RunningNode, running_node
from tests.node_program.gateway_double import GatewayDouble, pending, welcome
from tests.processes import runs
from tests.until import LIMIT_S, until

OWNER = Authority("owner", "owner", SCOPES, owner=True)
Gateway = tuple[GatewayDouble, NodeHome]


def setup_code(**said: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")


async def test_it_connects_as_a_node_host_with_what_it_offers(node: RunningNode) -> None:
    (said,) = node.gateway.connects

    assert (said["role"], said["scopes"], said["client"]["id"]) == ("node", [], "node-host")
    assert {"system.run", "system.run.prepare", "system.which", "device.info"} <= set(said["commands"])
    assert {"system", "device"} <= set(said["caps"])
    assert said["auth"] == {"token": "shared"}


async def test_the_token_of_the_device_is_kept_and_used_from_then_on(node: RunningNode) -> None:
    await node.gateway.drop()
    await node.connected(2)

    assert node.gateway.connects[1]["auth"] == {"deviceToken": "token-of-this-device"}
    assert node.home.settings().device_token == "token-of-this-device"
    assert {stat.S_IMODE(each.stat().st_mode) for each in node.home.path.iterdir()} == {0o600}
    assert stat.S_IMODE(node.home.path.stat().st_mode) == 0o700


async def test_it_waits_until_a_person_approves_it(gateway: Gateway) -> None:
    double, home = gateway
    double.answers = [pending, pending, welcome]
    delays = list[float]()

    async def sleep(seconds: float) -> None:
        delays.append(seconds)
        await asyncio.sleep(0)

    async with running_node(home, double, credential=NodeCredential("token", "shared"), sleep=sleep) as node:
        await node.connected()

    assert node.said[0] == "waiting for approval: homarus devices approve 52bc40b5"
    assert len(node.said) == 2
    assert all(0.5 <= each <= 5 for each in delays)


async def test_what_no_further_attempt_can_put_right_ends_it(gateway: Gateway) -> None:
    double, home = gateway
    details = {"code": "AUTH_TOKEN_MISMATCH"}
    double.answers = [lambda _: {"ok": False, "error": {"message": "no", "details": details}}]

    async with running_node(home, double) as node:
        await asyncio.wait([node.task])

    assert isinstance(node.task.exception(), NodeProblem)
    assert "--pair CODE" in str(node.task.exception())


async def test_it_waits_longer_each_time_that_nobody_answers(tmp_path: Path) -> None:
    home = NodeHome(tmp_path)
    home.keep(NodeSettings(url="ws://127.0.0.1:1", name="Laptop"))
    delays = list[float]()
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        delays.append(seconds)
        if len(delays) == 8:
            enough.set()
            await asyncio.Event().wait()

    async with running_node(home, GatewayDouble(), sleep=sleep):
        await asyncio.wait_for(enough.wait(), LIMIT_S)

    bounds = [2, 4, 8, 16, 32, 60, 60, 60]
    assert all(bound / 10 <= delay <= bound for delay, bound in zip(delays, bounds, strict=True))


async def test_it_answers_and_names_what_it_cannot_do(node: RunningNode) -> None:
    assert await node.gateway.payload("system.which", {"bins": ["sh", "nosuch"]}) == {"bins": {"sh": "/usr/bin/sh"}}
    unknown = await node.gateway.invoke("camera.explode")
    wrong = await node.gateway.invoke("system.which", {"bins": "sh"})
    garbled = await node.gateway.invoke("system.which", paramsJSON="{")

    assert unknown["error"] == {"code": "INVALID_REQUEST", "message": "this node has no command 'camera.explode'"}
    assert wrong["error"] == {"code": "INVALID_PARAMS", "message": "bins: expected a list of 1 to 256 texts"}
    assert garbled["error"]["code"] == "INVALID_PARAMS"


async def test_the_same_key_means_the_same_invocation(node: RunningNode, tmp_path: Path) -> None:
    node.home.write(node.home.approvals_file, {"defaults": {"security": "full"}})
    mark = tmp_path / "mark"
    params = {"rawCommand": f"echo once >> {mark}; cat {mark}"}

    first, again = [await node.gateway.invoke("system.run", params, idempotencyKey="k1") for _ in range(2)]

    assert first["payloadJSON"] == again["payloadJSON"]
    assert mark.read_text() == "once\n"


async def test_a_cancelled_invocation_ends_the_program_and_all_that_it_started(
    node: RunningNode, tmp_path: Path
) -> None:
    node.home.write(node.home.approvals_file, {"defaults": {"security": "full"}})
    child = tmp_path / "child"
    id, result = node.gateway.begin(
        "system.run", {"rawCommand": f"sleep 600 & echo $! > {child}.new; mv {child}.new {child}; wait"}
    )
    await until(child.exists)
    pid = int(child.read_text())

    node.gateway.cancel(id)

    await until(lambda: not runs(pid))
    assert not result.done()


async def test_an_answer_larger_than_the_hub_takes_is_refused_here(node: RunningNode) -> None:
    node.home.write(node.home.approvals_file, {"defaults": {"security": "full"}})

    result = await node.gateway.invoke("system.run", {"rawCommand": "head -c 199000 /dev/zero | tr '\\0' x"})

    assert result["error"]["code"] == "PAYLOAD_TOO_LARGE"
    assert "payloadJSON" not in result


async def test_the_hub_gets_its_statistics(node: RunningNode) -> None:
    await until(lambda: len(node.gateway.events) >= 1)

    event = node.gateway.events[0]
    assert event["event"] == "node.host.stats"
    assert {"cpuCount", "loadAverage", "memoryTotalBytes", "diskAvailableBytes"} <= json.loads(
        event["payloadJSON"]
    ).keys()


async def test_the_hub_itself_pairs_it_by_approval_and_knows_it_again(tmp_path: Path) -> None:
    async with running(tmp_path / "hub") as rig:
        _, token = await rig.tokens.create("node", {"operator.read"})
        home = NodeHome(tmp_path / "node")
        home.keep(NodeSettings(url=rig.url.replace("http", "ws"), name="Laptop"))
        async with running_node(home, GatewayDouble(), credential=NodeCredential("token", token.reveal())) as node:
            await until(lambda: len(rig.devices.pending()) == 1)
            (request,) = rig.devices.pending()
            await rig.devices.approve(request.id, OWNER)
            await until(lambda: any("connected to" in line for line in node.said))

        assert request.device_id == identity_of(home).id
        async with running_node(home, GatewayDouble()) as again:
            await until(lambda: any("connected to" in line for line in again.said))


def test_a_setup_code_says_where_the_hub_is() -> None:
    code = setup_code(url="wss://hub.local:18789", bootstrapToken="t" * 43, expiresAtMs=1)

    for text in (code, f"oc-pair://{code}", f" oc-pair://{code}\n"):
        found = read_setup_code(text)
        assert (found.url, found.token) == ("wss://hub.local:18789", "t" * 43)


@pytest.mark.parametrize(
    "text", ["", "oc-pair://", "hello", setup_code(url="wss://hub"), setup_code(url=1, bootstrapToken="t"), "bnVsbA"]
)
def test_what_is_no_setup_code_is_refused(text: str) -> None:
    with pytest.raises(NodeProblem, match="--pair"):
        read_setup_code(text)


@pytest.mark.parametrize(
    "url", ["ws://hub.local:18789", "http://192.168.1.5", "ws://127.0.0.1.evil.example", "ftp://x", ""]
)
def test_no_secret_goes_over_an_open_network(url: str) -> None:
    with pytest.raises(NodeProblem):
        check_url(url)


@pytest.mark.parametrize("url", ["wss://hub.local:18789", "https://hub.example", "ws://127.0.0.1:1", "http://[::1]:80"])
def test_an_encrypted_hub_or_one_on_this_machine_is_taken(url: str) -> None:
    assert check_url(url).startswith("ws")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    home = NodeHome(tmp_path)
    first = identity_of(home).id
    assert identity_of(home).id == first
    home.key_file.chmod(0o644)

    with pytest.raises(NodeProblem, match="chmod 600"):
        identity_of(home)
