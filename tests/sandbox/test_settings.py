"""The configuration of sandboxes: what is refused, and what a conversation in one may do."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hub.core.context import Authority
from hub.core.errors import InvalidRequest
from hub.core.schema import Schema, SchemaError
from hub.sandbox.binds import BLOCKED, check_source
from hub.sandbox.schema import SANDBOX_SCHEMA, sandbox_settings

OWNER = Authority("owner", person="anna", owner=True)
MAIN, GROUP = "agent:main:main", "agent:main:telegram:group:7"


def settings(config: dict[str, Any] | None) -> Any:
    return sandbox_settings(None if config is None else Schema(SANDBOX_SCHEMA)(config))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"mode": "some"}, "mode"),
        ({"scope": "shared", "workspace_access": "rw"}, "no agent's workspace"),
        ({"docker": {"privileged": True}}, "privileged"),
        ({"docker": {"cap_add": ["ALL"]}}, "cap_add"),
        ({"docker": {"security_opt": ["seccomp=unconfined"]}}, "security_opt"),
        *(
            ({"docker": {"network": name}}, "host or bridge")
            for name in ("host", "bridge", "container:x", "a b", "", 1)
        ),
        *(({"docker": {"image": name}}, "image") for name in ("-v", "", "a b")),
        *(({"bubblewrap": {"memory": size}}, "from 16m to 1024g") for size in ("1m", "x", True, -1, None, "9" * 13)),
        ({"bubblewrap": {"pids": 1}}, "pids"),
        *(
            ({"docker": {"binds": [bind]}}, "binds")
            for bind in (
                *(f"{path}:/data" for path in (*BLOCKED, "/", "/etc/ssh", "/var", "relative", "/srv/../etc", "//etc")),
                *(f"/srv/{name}:/data" for name in ("docker.sock", "containerd.sock")),
                *(
                    f"/srv/x:{path}"
                    for path in ("", "data", "/", "/proc/x", "/usr", "/workspace/x", "/a/../etc", "//x")
                ),
                *("/srv", "/srv:/data:rwx", 7),
            )
        ),
    ],
    ids=str,
)
def test_what_would_open_a_sandbox_is_no_configuration(config: dict[str, Any], expected: str) -> None:
    with pytest.raises(SchemaError) as caught:
        settings(config)

    assert expected in str(caught.value)


def test_settings_are_read_again_as_they_were_checked() -> None:
    check = Schema(SANDBOX_SCHEMA)
    once = check({"docker": {"memory": "1g", "binds": ["/srv/x:/x", "/srv/y:/y:rw"]}, "bubblewrap": None})

    assert check(once) == once
    assert once["docker"]["memory"] == 1024**3
    assert once["docker"]["binds"] == ["/srv/x:/x:ro", "/srv/y:/y:rw"]


def test_a_bind_is_checked_again_where_it_leads() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # where others are may be blocked: /dev/shm, /root
        top = Path(folder).resolve()
        home = top / "home"
        for name in ("home/.storage", "photos"):
            (top / name).mkdir(parents=True)
        (top / "inner").symlink_to(top / "photos")
        leads: dict[str, str | Path] = {
            "etc": "/etc",
            "root": "/",
            "run": "/run",
            "all": top,
            "hub": home,
            "storage": home / ".storage",
        }
        for name, target in leads.items():
            (top / f"to-{name}").symlink_to(target)

        assert check_source(f"{top}/inner", home) == f"{top}/photos"
        for name in (*(f"to-{name}" for name in leads), "missing", "home", ""):
            with pytest.raises(InvalidRequest, match="cannot be mounted"):
                check_source(f"{top}/{name}", home)


def test_a_conversation_is_confined_only_where_the_configuration_says_sandbox() -> None:
    for config, key, expected in (
        (None, GROUP, False),
        ({}, GROUP, True),
        ({}, MAIN, False),
        ({"mode": "all"}, MAIN, True),
        ({"mode": "off"}, GROUP, False),
    ):
        policies = settings(config).confinement(key, OWNER).policies
        assert bool(policies) is expected
        for policy in policies:
            assert policy.permits("exec", "shell")
            assert policy.permits("sessions_spawn", "session")
            for name in ("browser", "canvas", "nodes", "schedule", "gateway", "call_service", "memory_search"):
                assert not policy.permits(name, "home")

    assert (
        settings({"also_allow": ["group:home"]}).confinement(GROUP, OWNER).policies[0].permits("call_service", "home")
    )


def test_files_that_programs_can_write_count_as_words_from_outside() -> None:
    for config, key, expected in (
        ({"workspace_access": "rw"}, MAIN, (True, frozenset())),
        ({"workspace_access": "ro"}, MAIN, (False, frozenset())),
        ({"mode": "all"}, MAIN, (True, frozenset({"write", "edit", "apply_patch"}))),
        ({"mode": "all", "workspace_access": "rw"}, MAIN, (True, frozenset())),
    ):
        found = settings(config).confinement(key, OWNER)
        assert (found.outside, found.harmless) == expected


def test_the_prompt_says_where_programs_run_and_taint_does_not_change_it() -> None:
    assert settings(None).describe(MAIN, OWNER) == ""
    assert settings({"mode": "off"}).describe(GROUP, OWNER) == ""
    assert settings(None).describe(GROUP, OWNER).startswith("Programs that you start run in a sandbox")
    assert "/agent is your workspace" in settings({"workspace_access": "ro"}).describe(GROUP, OWNER)
    assert settings({}).describe(GROUP, OWNER) == settings({}).describe(GROUP, OWNER.narrow(tainted=True))
