"""SKILL.md: reads its front matter, in the form of agentskills.io with the further fields of OpenClaw. Pure.

https://agentskills.io/specification; OpenClaw's fields are in `metadata.openclaw`, and beside `name` for commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern

FILE_NAME = "SKILL.md"
FILE_LIMIT_BYTES = 256 * 1024
FRONT_LIMIT_CHARACTERS = 32_768
FRONT_VALUES_LIMIT = 2_000
NAME_LIMIT = 64
DESCRIPTION_LIMIT = 1_024
COMPATIBILITY_LIMIT = 500
LIST_LIMIT = 50

EXTENSIONS = ("homarus", "openclaw", "clawdbot", "clawdis")
"""Keys of `metadata` with gates and the like; the first that is there counts."""

_FRONT = LazyPattern(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_FIELD = LazyPattern(r"^([A-Za-z][\w-]*):[ \t]*(.*)$", re.MULTILINE)
_UNSAFE = LazyPattern(r"[^a-z0-9]+")
_SPECIFIED = LazyPattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ENVIRONMENT = LazyPattern(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_TOOL = LazyPattern(r"[a-z][a-z0-9_]{0,63}")
_TRUE = {"true", "yes", "on", "1"}


class SkillInvalid(InvalidRequest):
    """A SKILL.md cannot be used; the message names the field and what was expected."""


class Requirements(Struct, frozen=True):
    """The requirements of a skill.

    Attributes:
        bins: Programs that must all be found.
        any_bins: Programs one of which must be found.
        env: Environment variables.
        config: Keys of the configuration, with dots, that must have a value.
        os: Operating systems, as `sys.platform` names them; any without it.
    """

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()


class SkillFile(Struct, frozen=True):
    """The front matter of a SKILL.md.

    Attributes:
        name: The name of a-z, 0-9 and dashes, at most 64.
        description: Its purpose and when to use it, on one line.
        key: Its name in `skills.entries`.
        user_invocable: Whether it is a command in chat.
        model_invocable: Whether it is in the prompt.
        tool: The tool that its command calls, instead of asking the agent.
        always: Whether it is offered despite unmet requirements, on its operating systems.
        primary_env: The environment variable that its API key is given in.
        installs: Installers that it names; none is ever run.
        notes: Accepted deviations from the specification.
    """

    name: str
    description: str
    key: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    homepage: str = ""
    version: str = ""
    emoji: str = ""
    user_invocable: bool = True
    model_invocable: bool = True
    tool: str | None = None
    always: bool = False
    requires: Requirements = field(default_factory=Requirements)
    primary_env: str | None = None
    installs: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def read_skill(text: str, folder: str) -> SkillFile:
    """Parse a SKILL.md.

    Args:
        text: The whole file.
        folder: Name of the folder it is in, which is its name when it states none.

    Raises:
        SkillInvalid: It has no front matter, or lacks a description.
    """
    match = _FRONT.match(text)
    if match is None:
        raise SkillInvalid(f"{FILE_NAME} does not begin with front matter: name and description between lines of ---")
    if len(match[1]) > FRONT_LIMIT_CHARACTERS:
        raise SkillInvalid(f"the front matter of {FILE_NAME} is longer than {FRONT_LIMIT_CHARACTERS} characters")
    notes: list[str] = []
    said = _said(match[1], notes)
    extension = _extension(said)
    name = _name(said.get("name"), folder, notes)
    description = _line(said.get("description"))
    if not description:
        raise SkillInvalid(f"the description in {FILE_NAME} is missing: say what the skill is for and when to use it")
    if len(description) > DESCRIPTION_LIMIT:
        notes.append(f"the description is longer than {DESCRIPTION_LIMIT} characters and was cut")
    dispatches = _line(said.get("command-dispatch")).lower() == "tool"
    tool = _line(said.get("command-tool")) or None
    if dispatches and (tool is None or not _TOOL.fullmatch(tool)):
        raise SkillInvalid(f"{FILE_NAME}: command-dispatch is tool, and command-tool does not name one")
    if _line(said.get("command-arg-mode")) not in ("", "raw"):
        raise SkillInvalid(f"{FILE_NAME}: command-arg-mode is {_line(said['command-arg-mode'])[:40]!r}; expected raw")
    return SkillFile(
        name=name,
        description=description[:DESCRIPTION_LIMIT],
        key=_line(extension.get("skillKey"))[:NAME_LIMIT] or name,
        license=_line(said.get("license"))[:COMPATIBILITY_LIMIT],
        compatibility=_line(said.get("compatibility"))[:COMPATIBILITY_LIMIT],
        allowed_tools=_words(said.get("allowed-tools")),
        homepage=_line(said.get("homepage") or extension.get("homepage") or "")[:COMPATIBILITY_LIMIT],
        version=_line(said.get("version"))[:NAME_LIMIT],
        emoji=_line(extension.get("emoji"))[:16],
        user_invocable=_flag(said.get("user-invocable"), default=True),
        model_invocable=not _flag(said.get("disable-model-invocation"), default=False),
        tool=tool if dispatches else None,
        always=_flag(extension.get("always"), default=False),
        requires=_requirements(extension),
        primary_env=next(iter(_environment([extension.get("primaryEnv")])), None),
        installs=tuple(each for each in _items(extension.get("install")) if isinstance(each, Mapping)),
        notes=tuple(notes),
    )


def body_of(text: str) -> str:
    """Return the instructions of a SKILL.md: what follows its front matter."""
    match = _FRONT.match(text)
    return (text if match is None else text[match.end() :]).strip()


def slug_of(name: str) -> str:
    """Return a name of a-z, 0-9 and single dashes; may be empty."""
    return _UNSAFE.sub("-", name.lower()).strip("-")[:NAME_LIMIT].strip("-")


def _said(front: str, notes: list[str]) -> Mapping[str, Any]:
    """Return the fields; of invalid YAML, those on single lines."""
    from hub.config.bounds import Budget
    from hub.config.errors import ConfigError
    from hub.config.marks import MarkOrigin
    from hub.config.yaml_reader import YamlReader

    budget, errors = Budget(), list[ConfigError]()
    budget.values = FRONT_VALUES_LIMIT
    read = YamlReader(MarkOrigin(FILE_NAME), None, budget, errors, []).read(front)
    if isinstance(read, Mapping) and not errors:
        return read
    # Descriptions with a colon in them are common; the fields beside them are meant all the same.
    found = {match[1]: match[2].strip().strip("\"'") for match in _FIELD.finditer(front)}
    if not found:
        raise SkillInvalid(f"the front matter of {FILE_NAME} holds no fields; expected at least a description")
    notes.append("the front matter is not valid YAML; its fields were read line by line")
    return {**found, "metadata": _mapping_of(found.get("metadata", ""))}


def _mapping_of(text: str) -> Any:
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}


def _extension(said: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = said.get("metadata")
    if isinstance(metadata, str):
        metadata = _mapping_of(metadata)
    if not isinstance(metadata, Mapping):
        return {}
    return next((metadata[key] for key in EXTENSIONS if isinstance(metadata.get(key), Mapping)), {})


def _requirements(extension: Mapping[str, Any]) -> Requirements:
    stated = extension.get("requires")
    requires = stated if isinstance(stated, Mapping) else {}
    return Requirements(
        bins=_words(requires.get("bins")),
        any_bins=_words(requires.get("anyBins")),
        env=_environment(_items(requires.get("env"))),
        config=_words(requires.get("config")),
        os=_words(extension.get("os") or requires.get("os")),
    )


def _name(stated: Any, folder: str, notes: list[str]) -> str:
    written = _line(stated)
    name = slug_of(written) or slug_of(folder)
    if not name:
        raise SkillInvalid(f"the name in {FILE_NAME} is missing; expected a-z, 0-9 and dashes")
    if not _SPECIFIED.fullmatch(written):
        notes.append(f"the name {written[:NAME_LIMIT]!r} is read as {name}")
    elif name != folder:
        notes.append(f"the name {name} differs from the folder {folder[:NAME_LIMIT]}")
    return name


def _line(value: Any) -> str:
    return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""


def _flag(value: Any, *, default: bool) -> bool:
    if isinstance(value, bool):
        return value
    return _line(value).lower() in _TRUE if _line(value) else default


def _items(value: Any) -> Sequence[Any]:
    return list(value)[:LIST_LIMIT] if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _words(value: Any) -> tuple[str, ...]:
    """Return a list of words, which may be one text separated by blanks or commas."""
    texts = re.split(r"[,\s]+", value) if isinstance(value, str) else [_line(each) for each in _items(value)]
    return tuple(dict.fromkeys(text[:128] for text in texts[:LIST_LIMIT] if text))


def _environment(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(name for name in _words([_line(each) for each in values]) if _ENVIRONMENT.fullmatch(name))
