"""Reads foreign blueprints, pasted or downloaded, in a separate process."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hub.automation.blueprints.document import Blueprint, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.source_line import with_source
from hub.automation.blueprints.sources import path_from, place_of
from hub.config.errors import ConfigError
from hub.security.egress import Fetched
from hub.security.outside_reader import OutsideReader

WHAT = "the blueprint"


class ForeignBlueprint(Struct, frozen=True):
    """A blueprint that is not among the home's yet.

    Attributes:
        text: Its file.
        suggested_path: A suggested path below `blueprints/<domain>`.
        about: Its own description: `Blueprint.as_dict`.
        file, errors: Its name in errors, and its errors; none when it is valid.
    """

    text: str = ""
    suggested_path: str = ""
    about: dict[str, Any] = {}
    file: str = ""
    errors: list[ConfigError] = []


async def blueprint_of_text(reader: OutsideReader, text: str) -> ForeignBlueprint:
    """Read a text.

    Raises:
        HubError: It is not a valid blueprint, or takes too much to read.
    """
    return _valid(await reader.read(WHAT, read_text, text, returns=ForeignBlueprint))


async def blueprint_of_answer(reader: OutsideReader, url: str, answer: Fetched) -> ForeignBlueprint:
    """Read what a server answered; the blueprint then says where it came from.

    Raises:
        HubError: There is no valid blueprint in it, or it takes too much to read.
    """
    return _valid(await reader.read(WHAT, read_answer, url, answer.url, answer.body, returns=ForeignBlueprint))


def read_text(text: str) -> ForeignBlueprint:
    """Return the blueprint in a text, or its errors."""
    try:
        blueprint = read_blueprint(text, "the imported text")
    except BlueprintInvalid as error:
        return ForeignBlueprint(file="the imported text", errors=error.errors)
    return _foreign(blueprint, path_from("imported", blueprint.metadata.name))


def read_answer(url: str, answered_url: str, body: bytes) -> ForeignBlueprint:
    """Return the blueprint in a server's answer for `url`, or its error.

    Raises:
        NotFound: It does not exist.
        InvalidRequest: It is nothing that could hold one.
    """
    source = place_of(url).read(Fetched(200, {}, body, answered_url))
    try:
        read_blueprint(source.text, url)
        return _foreign(read_blueprint(with_source(source.text, url), url), source.suggested_path)
    except BlueprintInvalid as error:
        return ForeignBlueprint(file=url, errors=error.errors)


def _foreign(blueprint: Blueprint, path: str) -> ForeignBlueprint:
    return ForeignBlueprint(blueprint.text, path, blueprint.as_dict())


def _valid(found: ForeignBlueprint) -> ForeignBlueprint:
    if found.errors:
        raise BlueprintInvalid(found.file, found.errors)
    return found
