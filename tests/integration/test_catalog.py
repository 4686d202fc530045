"""Manifests, where integrations are found, and their schemas."""

from __future__ import annotations

import sys

import pytest

from hub.config.sections import SchemaProblem
from hub.integration.catalog import find
from hub.integration.errors import ManifestError
from hub.integration.importing import import_integration
from hub.integration.manifest import read_manifest
from hub.integration.order import in_order, with_dependencies
from hub.integration.schemas import IntegrationSchemas
from tests.integration.conftest import Kit


def test_every_integration_of_ours_has_a_valid_manifest_and_schema() -> None:
    catalog = find(None)
    schemas = IntegrationSchemas(catalog)

    assert {domain: found.error for domain, found in catalog.items() if found.manifest is None} == {}
    assert sorted(schemas.section(domain).name for domain in catalog) == sorted(catalog)


def test_dependencies_of_ours_exist_and_have_no_circle() -> None:
    catalog = find(None)
    named = {name for found in catalog.values() if found.manifest for name in found.manifest.dependencies}

    assert named - catalog.keys() == set()
    assert in_order(catalog, catalog)[1] == []


async def test_a_custom_integration_stands_in_for_one_of_ours(kit: Kit) -> None:
    ours = sorted(find(None))[0]
    kit.add(ours)

    found = find(kit.home)[ours]

    assert found.custom
    assert found.overrides
    assert found.path.parent.parent == kit.home


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "manifest.json line 1: this is not JSON"),
        ("[]", "expected a dictionary"),
        ('{"domain": "x", "name": "X", "dependancies": []}', r"no field dependancies \(did you mean dependencies\?\)"),
        ('{"domain": "x"}', "the field name is missing"),
        ('{"domain": "y", "name": "X"}', "its folder is named x"),
        ('{"domain": "X Y", "name": "X"}', "domain: expected a-z"),
        ('{"domain": "x", "name": "X", "requirements": "a"}', "requirements: expected a list"),
        ('{"domain": "x", "name": "X", "extra": 5}', "extra: expected the name"),
        ('{"domain": "x", "name": "' + "x" * 70_000 + '"}', "larger than 64 KB"),
        ("[" * 60_000, "not JSON"),
    ],
)
async def test_a_broken_manifest_is_told_with_file_and_field(kit: Kit, text: str, message: str) -> None:
    kit.add("x", text=text)

    with pytest.raises(ManifestError, match=message) as raised:
        read_manifest(kit.home / "custom_integrations" / "x")

    assert raised.value.message.startswith("x/manifest.json")


async def test_a_folder_without_a_manifest_is_told_too(kit: Kit) -> None:
    (kit.home / "custom_integrations" / "empty").mkdir(parents=True)

    found = find(kit.home)["empty"]

    assert found.manifest is None
    assert "empty/manifest.json cannot be read" in found.error


async def test_a_schema_is_loaded_without_its_integration(kit: Kit) -> None:
    kit.add("heavy", "raise RuntimeError('imported')\n", schema="CONFIG_SCHEMA = {'a': int}\nEACH_ITEM = True\n")

    section = IntegrationSchemas(find(kit.home)).section("heavy")

    assert section.validate({"a": 1}) == {"a": 1}
    assert section.each_item
    assert "custom_integrations.heavy" not in sys.modules


async def test_without_a_schema_any_configuration_is_taken(kit: Kit) -> None:
    kit.add("free")

    assert IntegrationSchemas(find(kit.home)).section("free").validate({"anything": [1]}) == {"anything": [1]}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\n", "has no CONFIG_SCHEMA"),
        ("\nraise SystemExit\n", "schema.py line 2: SystemExit"),
        ("import nothing_of_the_kind\nCONFIG_SCHEMA = {}\n", "line 1: ModuleNotFoundError"),
        ("CONFIG_SCHEMA = {'a': memoryview(b'')}\n", "is not a schema"),
        (
            "from hub.core.schema import Schema\nCONFIG_SCHEMA = Schema({'a': memoryview(b'')})\n",
            "is not a schema",
        ),
    ],
)
async def test_a_broken_schema_is_told_with_its_line(kit: Kit, code: str, message: str) -> None:
    kit.add("odd", schema=code)

    with pytest.raises(SchemaProblem, match=message):
        IntegrationSchemas(find(kit.home)).section("odd")


async def test_a_custom_integration_may_have_modules_of_its_own(kit: Kit) -> None:
    kit.add("parts", "from .inner import setup, unload\n")
    (kit.home / "custom_integrations" / "parts" / "inner.py").write_text(
        "async def setup(host, config):\n    pass\n\n\nasync def unload(host):\n    pass\n"
    )

    module = import_integration(find(kit.home)["parts"])

    assert module.setup.__module__ == "custom_integrations.parts.inner"


async def test_dependencies_are_brought_along_as_far_as_they_exist(kit: Kit) -> None:
    kit.add("top", dependencies=["middle", "nothing"])
    kit.add("middle", dependencies=["bottom"])
    kit.add("bottom")
    catalog = find(kit.home)

    assert with_dependencies({"top"}, catalog) == {"top", "middle", "bottom"}
    assert in_order({"top", "middle", "bottom"}, catalog) == (["bottom", "middle", "top"], [])
