"""The call that creates a container: built from the specification of a sandbox, and checked before it is sent. Pure.

Fields: `POST /containers/create` of the Docker Engine API, version 1.41.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import Forbidden
from hub.sandbox.contract import WORKSPACE, SandboxSpec
from hub.sandbox.network import ENVIRONMENT, allowed_hosts

HOME_LABEL, DIGEST_LABEL = "homarus.home", "homarus.digest"
AGENT_LABEL, SCOPE_LABEL = "homarus.agent", "homarus.scope"
TMP_SHARE = 2
"""The part of the memory that files in /tmp may fill: half."""
_WAIT = "while :; do sleep 3600 & wait; done"
"""The first process: it does nothing, and takes leave of those that have lost their parent."""

_KEYS = frozenset(
    {
        *("Image", "Entrypoint", "Cmd", "User", "WorkingDir", "Env", "Hostname", "Labels", "NetworkDisabled"),
        *("OpenStdin", "Tty", "HostConfig"),
    }
)
_HOST_KEYS = frozenset(
    {
        *("ReadonlyRootfs", "NetworkMode", "CapDrop", "SecurityOpt", "Memory", "MemorySwap", "NanoCpus", "PidsLimit"),
        *("Tmpfs", "Mounts", "IpcMode", "ShmSize", "Ulimits", "RestartPolicy", "LogConfig", "Privileged"),
    }
)
_NETWORKS_OF_THE_MACHINE = ("host", "bridge", "default")


def create_body(spec: SandboxSpec) -> dict[str, Any]:
    """Return the body of the call that creates the container of a sandbox.

    Raises:
        Forbidden: It would not be safe.
    """
    settings, part = spec.settings, spec.settings["memory"] // TMP_SHARE
    proxied = allowed_hosts(settings) is not None
    network = "none" if proxied else settings["network"]
    variables = ENVIRONMENT if proxied else {}
    tmpfs = {"/tmp": f"rw,nosuid,nodev,exec,size={part},mode=1777"}  # noqa: S108  inside the sandbox
    tmpfs.update(dict.fromkeys(spec.covered, "ro,nosuid,nodev,noexec,size=4096,mode=0755"))
    body: dict[str, Any] = {
        "Image": settings["image"],
        "Entrypoint": [],
        "Cmd": ["/bin/sh", "-c", _WAIT],
        "User": f"{spec.uid}:{spec.gid}",
        "WorkingDir": WORKSPACE,
        "Env": [f"HOME={WORKSPACE}", "LANG=C.UTF-8", *(f"{name}={value}" for name, value in variables.items())],
        "Hostname": "sandbox",
        "Labels": {
            HOME_LABEL: spec.home,
            DIGEST_LABEL: spec.digest,
            AGENT_LABEL: spec.agent_id,
            SCOPE_LABEL: spec.scope,
        },
        "NetworkDisabled": network == "none",
        "HostConfig": {
            "ReadonlyRootfs": True,
            "NetworkMode": network,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Memory": settings["memory"],
            "MemorySwap": settings["memory"],
            "NanoCpus": int(settings["cpus"] * 1_000_000_000),
            "PidsLimit": settings["pids"],
            "Tmpfs": tmpfs,
            "Mounts": [
                {
                    "Type": "bind",
                    "Source": mount.source,
                    "Target": mount.target,
                    "ReadOnly": not mount.writable,
                    "BindOptions": {"Propagation": "rprivate"},
                }
                for mount in spec.mounts
            ],
            "IpcMode": "private",
            "ShmSize": part,
            "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
            "RestartPolicy": {"Name": "no"},
            "LogConfig": {"Type": "none"},
        },
    }
    check_body(body, frozenset(mount.source for mount in spec.mounts))
    return body


def check_body(body: Mapping[str, Any], sources: frozenset[str]) -> None:
    """Refuse a call that would weaken a sandbox, whatever has built it. An allow-list: unknown keys are refused.

    Args:
        body: The whole body of the call.
        sources: The directories that may be mounted.

    Raises:
        Forbidden: Something of it is not allowed.
    """
    host = body.get("HostConfig") or {}
    user, _, group = str(body.get("User", "")).partition(":")
    network = str(host.get("NetworkMode", ""))
    wrong = [
        *(f"{key} is set" for key in sorted({*body} - _KEYS)),
        *(f"HostConfig.{key} is set" for key in sorted({*host} - _HOST_KEYS)),
    ]
    needed = {
        "its system can be written": host.get("ReadonlyRootfs") is True,
        "it is privileged": not host.get("Privileged"),
        "it keeps capabilities": host.get("CapDrop") == ["ALL"],
        "its security options are not ours": host.get("SecurityOpt") == ["no-new-privileges"],
        "its user is root": all(each.isdecimal() and int(each) > 0 for each in (user, group)),
        "it has no bound on memory": 0 < host.get("Memory", 0) == host.get("MemorySwap"),
        "it has no bound on processes": host.get("PidsLimit", 0) > 0,
        "it has no bound on processors": host.get("NanoCpus", 0) > 0,
        "it shares memory with others": host.get("IpcMode") == "private",
        "it has a network of the machine": bool(network)
        and ":" not in network
        and network not in _NETWORKS_OF_THE_MACHINE,
        "it starts by itself": host.get("RestartPolicy") == {"Name": "no"},
    }
    wrong += [complaint for complaint, holds in needed.items() if not holds]
    for mount in host.get("Mounts") or ():
        source = mount.get("Source")
        if mount.get("Type") != "bind" or source not in sources or str(source).endswith(".sock"):
            wrong.append(f"{source} is mounted")
        if mount.get("BindOptions") != {"Propagation": "rprivate"}:
            wrong.append(f"mounts below {source} come through")
    if wrong:
        raise Forbidden(f"this container is not created: {'; '.join(wrong)}")
