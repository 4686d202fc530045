"""The call that creates a container is checked as a whole, whatever has built it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import Forbidden
from hub.sandbox.contract import Mount, SandboxSpec
from integrations.sandbox.docker.create_body import check_body, create_body

SETTINGS = {"image": "x", "network": "none", "memory": 1 << 26, "cpus": 0.5, "pids": 32}
SPEC = SandboxSpec(
    "n", "h", "main", "agent", "", 1000, 1000, Path("/x"), (Mount("/srv/a", "/workspace", True),), (), SETTINGS
)
SOURCES = frozenset({"/srv/a"})


def on_host(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["HostConfig"].__setitem__(key, value)


def mounting(**wanted: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["HostConfig"]["Mounts"][0].update(wanted)


@pytest.mark.parametrize(
    "change",
    [
        on_host("Privileged", True),
        *(on_host(f"{kind}Mode", "host") for kind in ("Network", "Pid", "Ipc", "UTS", "Userns", "Cgroupns")),
        *(on_host("NetworkMode", name) for name in ("bridge", "default", "container:other", "")),
        on_host("CapAdd", ["SYS_ADMIN"]),
        on_host("CapDrop", []),
        *(
            on_host("SecurityOpt", value)
            for value in ([], ["no-new-privileges", "seccomp=unconfined"], ["label=disable"])
        ),
        on_host("ReadonlyRootfs", False),
        *(on_host(key, 0) for key in ("Memory", "MemorySwap", "PidsLimit", "NanoCpus")),
        on_host("MemorySwap", -1),
        on_host("Devices", [{"PathOnHost": "/dev/sda"}]),
        on_host("Binds", ["/:/host"]),
        on_host("VolumesFrom", ["other"]),
        on_host("RestartPolicy", {"Name": "always"}),
        on_host("CgroupParent", "/"),
        on_host("MaskedPaths", []),
        mounting(Source="/var/run/docker.sock"),
        mounting(Source="/etc"),
        mounting(Type="volume"),
        mounting(BindOptions={"Propagation": "rshared"}),
        *(
            lambda body, user=user: body.__setitem__("User", user)
            for user in ("", "0:0", "0", "root", "1000", "1000:0")
        ),
        lambda body: body.__setitem__("Volumes", {"/x": {}}),
    ],
)
def test_no_call_that_opens_a_container_is_sent(change: Callable[[dict[str, Any]], None]) -> None:
    body = create_body(SPEC)
    change(body)

    with pytest.raises(Forbidden, match="this container is not created"):
        check_body(body, SOURCES)


@pytest.mark.parametrize(
    "change",
    [
        {"uid": 1001},
        {"gid": 1001},
        {"mounts": (Mount("/srv/a", "/workspace"),)},
        {"mounts": (*SPEC.mounts, Mount("/srv/b", "/b"))},
        {"covered": ("/workspace/memory",)},
        {"settings": {**SETTINGS, "setup_command": "true"}},
        *({"settings": {**SETTINGS, key: other}} for key, other in (("image", "y"), ("memory", 1 << 27), ("pids", 33))),
    ],
    ids=str,
)
def test_whatever_is_changed_gives_another_container(change: dict[str, Any]) -> None:
    assert replace(SPEC, **change).digest != SPEC.digest
    two = (Mount("/a", "/a"), Mount("/b", "/b"))
    assert replace(SPEC, mounts=two).digest != replace(SPEC, mounts=two[::-1]).digest
