"""Configuration of an agent's sandbox: `agents[].sandbox`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import (
    All,
    Described,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    ensure_list,
    integer,
    number,
    string,
)
from hub.sandbox.binds import check_written
from hub.sandbox.network import HOST
from hub.sandbox.settings import SandboxSettings

IMAGE = "homarus-sandbox:latest"
MEMORY = 512 * 1024 * 1024
DISK = 4 * 1024**3
PIDS = 128
CPUS = 1.0
BINDS_LIMIT = 20
HOSTS_LIMIT = 200
MEMORY_MIN, MEMORY_MAX = 16 * 1024**2, 1024**4
_SIZE = re.compile(r"([1-9][0-9]{0,12})([kmg]?)")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_NOT_OVER = ("/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/tmp", "/workspace", "/agent")  # noqa: S108  inside
_NO_NETWORKS = frozenset({"host", "bridge", "default"})


def _size(value: Any) -> int:
    found = _SIZE.fullmatch(str(value).lower()) if isinstance(value, str | int) and value is not True else None
    size = int(found[1]) * _UNITS[found[2]] if found else 0
    if not MEMORY_MIN <= size <= MEMORY_MAX:
        raise Invalid("expected a size from 16m to 1024g, such as 512m or 2g")
    return size


def _bind(value: Any) -> str:
    source, _, rest = str(value).partition(":")
    target, _, access = rest.partition(":")
    path = PurePosixPath(target)
    if not isinstance(value, str) or not path.is_absolute() or access not in ("", "ro", "rw"):
        raise Invalid("expected /DIRECTORY/HERE:/DIRECTORY/INSIDE, with :rw behind it if programs may write there")
    if ".." in path.parts or path == PurePosixPath("/") or target.startswith("//"):
        raise Invalid(f"{target!r:.200} is not a place inside a sandbox; expected one below /, without ..")
    for taken in _NOT_OVER:
        if path.is_relative_to(taken) or PurePosixPath(taken).is_relative_to(path):
            raise Invalid(f"{target!r:.200} would cover {taken} of the sandbox; choose another place, such as /data")
    try:
        return f"{check_written(source)}:{path}:{access or 'ro'}"
    except InvalidRequest as error:
        raise Invalid(error.message) from error


def _network(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _reachable(value)
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", value) and value not in _NO_NETWORKS:
        return value
    raise Invalid(
        "expected none, {allow: [HOST, …]}, or the name of a network made for it with `docker network create`; not "
        "host or bridge"
    )


def _allowed(value: Any) -> Any:
    if value == "none":
        return value
    if isinstance(value, Mapping):
        return _reachable(value)
    raise Invalid("expected none, or {allow: [HOST, …]}")


def _reachable(value: Mapping[str, Any]) -> dict[str, list[str]]:
    hosts = value.get("allow")
    if {*value} != {"allow"} or not isinstance(hosts, list) or not 0 < len(hosts) <= HOSTS_LIMIT:
        raise Invalid(f"expected {{allow: [HOST, …]}} with 1 to {HOSTS_LIMIT} hosts")
    for host in hosts:
        if not isinstance(host, str) or not HOST.fullmatch(host):
            raise Invalid(f"{host!r:.100} is not a host: expected example.org, *.example.org or example.org:8443")
    return {"allow": [*hosts]}


def _mapping(value: Any) -> Any:
    return {} if value is None else value


_COMMON = {
    Optional("memory", default="512m", description="Memory of all its programs"): Described(
        _size, {"type": ["string", "integer"]}, "size"
    ),
    Optional("disk", default="4g", description="What its files may hold; a program that fills it is ended"): Described(
        _size, {"type": ["string", "integer"]}, "size"
    ),
    Optional("pids", default=PIDS, description="How many processes there are in it"): All(
        integer, Range(min=8, max=32_768)
    ),
    Optional("binds", default=list, description="Directories of the machine: /here:/inside, read-only without :rw"): (
        All(ensure_list(Described(_bind, {"type": "string"}, "bind")), Length(max=BINDS_LIMIT))
    ),
}
DOCKER_SCHEMA = {
    Optional("image", default=IMAGE, description="Its image, with sh and sleep"): All(
        string, Match(r"^[a-z0-9][A-Za-z0-9_.:/@-]{0,254}$", msg="expected the name of an image")
    ),
    Optional(
        "network",
        default="none",
        description="none, {allow: [HOST, …]}, or a network made with `docker network create`",
    ): Described(_network, {"type": ["string", "object"]}, "network"),
    Optional("setup_command", description="Run once when it is made, by sh"): All(string, Length(min=1, max=10_000)),
    Optional("cpus", default=CPUS, description="How many processors it may use"): All(number, Range(min=0.1, max=256)),
    **_COMMON,
}
BUBBLEWRAP_SCHEMA = {
    Optional("network", default="none", description="none, or {allow: [HOST, …]}"): Described(
        _allowed, {"type": ["string", "object"]}, "network"
    ),
    **_COMMON,
}
ENGINES: Mapping[str, Mapping[Any, Any]] = {"docker": DOCKER_SCHEMA, "bubblewrap": BUBBLEWRAP_SCHEMA}
"""The settings of each engine; without any in the configuration, the first that works here is used."""


def _engine(name: str) -> Any:
    return All(Described(_mapping, {}, "mapping"), dict(ENGINES[name]))


def _consistent(item: dict[str, Any]) -> dict[str, Any]:
    if item["scope"] == "shared" and item["workspace_access"] != "none":
        raise Invalid("a sandbox that agents share has no agent's workspace", path=["workspace_access"])
    return item


SANDBOX_SCHEMA = All(
    {
        Optional("mode", default="non_main", description="Whose programs run in one, beside those who must"): In(
            ["off", "non_main", "all"]
        ),
        Optional("scope", default="agent", description="Who shares one: session, agent or shared by all agents"): In(
            ["session", "agent", "shared"]
        ),
        Optional("workspace_access", default="none", description="How the workspace is seen inside: none, ro or rw"): (
            In(["none", "ro", "rw"])
        ),
        Optional("also_allow", default=list, description="Further tools of a conversation in a sandbox"): All(
            ensure_list(All(string, Length(min=1, max=64))), Length(max=200)
        ),
        Optional(
            "session_visibility",
            default="spawned",
            description="Which other conversations one in a sandbox sees: spawned, its subagents' alone, or all",
        ): In(["spawned", "all"]),
        Optional("docker", description="Use Docker, with these settings"): _engine("docker"),
        Optional("bubblewrap", description="Use bubblewrap, with these settings"): _engine("bubblewrap"),
    },
    _consistent,
)


def engines_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of engines that a validated mapping states."""
    return {name: item[name] for name in ENGINES if name in item}


def sandbox_settings(item: Mapping[str, Any] | None) -> SandboxSettings:
    """Read the validated mapping; by default, only programs are put in sandboxes."""
    engines = engines_of(item or {}) or {name: _DEFAULTS[name] for name in ENGINES}
    if item is None:
        return SandboxSettings(engines=engines)
    also = frozenset(item["also_allow"])
    return SandboxSettings(
        item["mode"], item["scope"], item["workspace_access"], engines, True, also, item["session_visibility"]
    )


_BOUNDS = {"network": "none", "memory": MEMORY, "disk": DISK, "pids": PIDS, "binds": []}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "docker": {"image": IMAGE, "cpus": CPUS, **_BOUNDS},
    "bubblewrap": _BOUNDS,
}
