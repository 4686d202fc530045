"""The image and the example of it: what they name exists, and they run with as few rights as the documentation says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub.core.container import has_own_network

CHECKOUT = Path(__file__).parents[1]
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = CHECKOUT / "examples/container/compose.yaml"


def services() -> dict[str, dict[str, Any]]:
    return dict(YAML(typ="safe").load(COMPOSE)["services"])


def test_what_goes_into_the_image_is_in_the_checkout() -> None:
    listed = [each[1:] for each in (CHECKOUT / ".dockerignore").read_text().splitlines() if each.startswith("!")]

    assert listed == sorted(listed)
    assert [each for each in listed if not (CHECKOUT / each).exists()] == []
    (check,) = re.findall(r"/opt/homarus/(script/\w+)", DOCKERFILE)
    assert check in listed


def test_the_image_runs_as_a_user_without_rights_and_is_checked() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["1000:1000"]
    assert "HEALTHCHECK" in last
    assert "VOLUME /config" in last


def test_the_extras_of_the_image_are_those_of_the_project_and_of_the_example() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'^ARG EXTRAS="(.*)"$', DOCKERFILE, re.MULTILINE)

    assert set(extras.split()) <= project["optional-dependencies"].keys()
    assert services()["homarus"]["build"]["args"]["EXTRAS"] == extras


@pytest.mark.parametrize("name", sorted(services()))
def test_a_service_of_the_example_has_few_rights(name: str) -> None:
    service = services()[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service["user"].startswith(("0", "root"))
    assert "privileged" not in service
    assert [each for each in service["volumes"] if "docker.sock" in each] == []


def test_the_example_lets_this_machine_alone_in() -> None:
    ports = {name: service.get("ports", []) for name, service in services().items()}

    assert ports == {"homarus": ["127.0.0.1:18789:18789"], "mosquitto": []}


def test_the_files_beside_the_example_exist() -> None:
    mounted = [each.split(":")[0] for service in services().values() for each in service["volumes"]]

    assert [each for each in mounted if each.startswith("./") and not (COMPOSE.parent / each).is_file()] == []
    assert (COMPOSE.parent / services()["homarus"]["build"]["context"] / "Dockerfile").is_file()


def interface(folder: Path, name: str, index: int, link: int) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "ifindex").write_text(f"{index}\n")
    (folder / name / "iflink").write_text(f"{link}\n")


@pytest.mark.parametrize(
    ("interfaces", "own"),
    [
        ([("lo", 1, 1), ("eth0", 2, 17)], True),  # one end of a pair, whose other end is outside
        ([("lo", 1, 1), ("enp3s0", 2, 2)], False),
        ([("lo", 1, 1), ("enp3s0", 2, 2), ("enp3s0.7", 3, 2)], False),  # a VLAN of an interface that is here
    ],
)
def test_a_network_of_its_own_shows_by_a_pair_that_leads_out(
    tmp_path: Path, interfaces: list[tuple[str, int, int]], own: bool
) -> None:
    for each in interfaces:
        interface(tmp_path / "net", *each)
    mark = tmp_path / "mark"
    mark.touch()

    assert has_own_network(tmp_path / "net", [str(mark)]) is own
    assert not has_own_network(tmp_path / "net", [str(tmp_path / "none")])
