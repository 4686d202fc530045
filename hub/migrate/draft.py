"""The home's files as they would be after a move; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.agent.agents import Agents
from hub.config import edit
from hub.config.check import check, check_loaded
from hub.config.errors import ConfigError
from hub.config.files import ROOT_FILE, SECRETS_FILE, FileProblem, HomeFiles, content_hash
from hub.config.loader import load
from hub.config.locate import locate
from hub.config.paths import KeyPath
from hub.config.plain_data import plain, same
from hub.config.render import block, item
from hub.config.sections import Sections
from hub.config.spans import SpanNode, Tagged, find, read_spans
from hub.core.errors import InvalidRequest
from hub.migrate.plan import Changes, NewFile
from hub.security.root import Root
from hub.storage.homedir import Home

PACKAGES = "packages"


class Section:
    """A section of the package, as lines of text: a list, or a mapping by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.wanted: Any = None

    def item(self, value: Mapping[str, Any], text: str | None = None, above: Sequence[str] = ()) -> None:
        """Add an item of a list.

        Args:
            value: Its data.
            text: It as it was written, at the left margin, with its comments; used if it says the same.
            above: Comments that stand before it.
        """
        self.wanted = [] if self.wanted is None else self.wanted
        self.wanted.append(plain(value, str))
        self.lines += [f"  {each}" for each in above]
        lines = _same_text(text, self.wanted[-1])
        if lines is None:
            self.lines += item(value, 2)
            return
        self.lines += [f"  - {lines[0]}", *(f"    {line}" if line else "" for line in lines[1:])]

    def entry(self, key: str, value: Any, text: str | None = None) -> None:
        """Add an entry of a mapping; see `item`."""
        self.wanted = {} if self.wanted is None else self.wanted
        self.wanted[key] = plain(value, str)
        lines = _same_text(text, self.wanted[key])
        if lines is None:
            self.lines += block({key: value}, 2)
            return
        self.lines += [f"  {key}:", *(f"    {line}" if line else "" for line in lines)]


class Draft:
    """Collects the changes of a move.

    Args:
        home: The home directory.
        sections: Of its configuration.
        name: Of the package, such as `home_assistant`.
    """

    def __init__(self, home: Path, sections: Sections, name: str) -> None:
        self.home = home
        self.sections = sections
        self.before = check(home, sections)
        self.secrets: dict[str, str] = {}
        self._files = HomeFiles(Root(home))
        self._name = name
        self._texts: dict[str, str] = {}
        self._package: dict[str, Section] = {}
        self._edits: list[KeyPath] = []
        self._plain: dict[str, bytes] = {}

    @property
    def raw(self) -> Any:
        """The present configuration as written, packages merged in."""
        return self.before.config.raw

    def section(self, name: str) -> Section:
        """Return a section of the package, made now if it is new."""
        return self._package.setdefault(name, Section())

    def set(self, keys: KeyPath, value: Any) -> None:
        """Set a value of the root file or what it includes.

        Raises:
            EditRefused: It is written in a way that only a person should change.
        """
        file, inner = locate(self.raw, keys, self._original)
        self._texts[file] = edit.set_value(self._texts.get(file, self._original(file)), inner, value)
        self._edits.append(keys)

    def workspace(self, agent: str) -> str:
        """Return the folder of an agent's workspace below the home; empty when it lies elsewhere.

        Raises:
            NotFound: There is no such agent.
        """
        path = Agents(self.before.config.get("agents"), Home(self.home)).get(agent).workspace
        return path.relative_to(self.home).as_posix() if path.is_relative_to(self.home) else ""

    def file(self, name: str, data: bytes) -> bool:
        """Add a file that is no configuration; return whether there is none yet with another content."""
        found = self._data(name)
        if found is not None:
            return found == data
        self._plain[name] = data
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Put a file that is no configuration into the place of the present one."""
        if self._data(name) != data:
            self._plain[name] = data

    def text_of(self, name: str) -> str | None:
        """Return the text of a file of the home; None when there is none."""
        data = self._plain.get(name) or self._data(name)
        return None if data is None else data.decode("utf-8", "replace")

    def secret(self, name: str, value: str) -> bool:
        """Add a secret; return whether there is none yet of that name with another value."""
        present = self._secret_values().get(name)
        if present is not None:
            return present == value
        self.secrets[name] = value
        return True

    def has_secret(self, name: str) -> bool:
        """Whether the home has a secret with this name, or gets it."""
        return name in self.secrets or name in self._secret_values()

    def changes(self, beside: Path | None = None) -> tuple[Changes, list[ConfigError]]:
        """Return what is to be written, and the errors the configuration would have that it has not now.

        Args:
            beside: A directory with the blueprints and registries as they will be; the home's own without it.
        """
        texts = dict(self._texts)
        package = self._package_text()
        name = ""
        if package:
            name = self._free_package(texts)
            texts[name] = package
        if self.secrets:
            text = self._original(SECRETS_FILE)
            for key, value in self.secrets.items():
                text = edit.set_value(text, (key,), value)
            texts[SECRETS_FILE] = text
        order = sorted(texts, key=lambda each: (each != name, each == ROOT_FILE, each))
        files = [NewFile(each, data, self._hash(each)) for each, data in self._plain.items()]
        files += [NewFile(each, texts[each].encode(), self._hash(each)) for each in order]
        known = {(each.path, each.message) for each in self.before.errors}
        after = check_loaded(load(self.home, overrides=texts), self.sections, None, beside or self.home)
        new = [each for each in after.errors if (each.path, each.message) not in known]
        return Changes(files=files, edits=self._edits, secrets=sorted(self.secrets)), new

    # -- below -------------------------------------------------------------------------------------------------------

    def _package_text(self) -> str:
        made = {name: each for name, each in self._package.items() if each.lines}
        if not made:
            return ""
        command = f"homarus migrate {self._name.replace('_', '-')}"
        lines = [f"# Brought over by `{command}`. It is yours now: change what you like."]
        for name, each in made.items():
            lines += ["", f"{name}:", *each.lines]
        text = "\n".join(lines) + "\n"
        root = read_spans(text)
        if root is None or not same({name: each.wanted for name, each in made.items()}, root.data):
            raise InvalidRequest("what was found there cannot be written as it is; nothing was changed")
        return text

    def _free_package(self, texts: dict[str, str]) -> str:
        """Return the name of the package's file, and see to it that it is included."""
        text = texts.get(ROOT_FILE, self._original(ROOT_FILE))
        root = read_spans(text)
        node = find(root, ("hub", PACKAGES)) if root is not None else None
        value = node.data if node is not None else None
        folder = PACKAGES
        if isinstance(value, Tagged):
            if value.tag != "!include_dir_named":
                raise edit.EditRefused(
                    f"{ROOT_FILE}: hub.packages is {value.tag} {value.value}; write packages: "
                    "!include_dir_named packages, or a mapping, so that a package can be added"
                )
            folder = str(value.value)
        taken = _keys(node) if not isinstance(value, Tagged) else frozenset()
        number = 1
        while True:
            name = self._name if number == 1 else f"{self._name}_{number}"
            file = f"{folder}/{name}.yaml"
            if name not in taken and self._data(file) is None:
                break
            number += 1
        if not isinstance(value, Tagged):
            keys = ("hub", PACKAGES, name)
            texts[ROOT_FILE] = edit.set_value(text, keys, Tagged("!include", file))
            self._edits.append(keys)
        return file

    def _original(self, name: str) -> str:
        data = self._data(name)
        return "" if data is None else data.decode()

    def _data(self, name: str) -> bytes | None:
        try:
            return self._files.read(name)
        except FileProblem as problem:
            if problem.missing:
                return None
            raise InvalidRequest(problem.message) from problem

    def _hash(self, name: str) -> str | None:
        data = self._data(name)
        return None if data is None else content_hash(data)

    def _secret_values(self) -> dict[str, str]:
        root = read_spans(self._original(SECRETS_FILE))
        return {str(key.data): str(value.data) for key, value in root.entries} if root is not None else {}


def _keys(node: SpanNode | None) -> frozenset[str]:
    return frozenset(str(key.data) for key, _ in node.entries) if node is not None else frozenset()


def _same_text(text: str | None, wanted: Any) -> list[str] | None:
    """Return the lines of a text if it says the same as the data, and can be indented as it is."""
    if text is None or "\t" in text:
        return None
    try:
        root = read_spans(text)
    except InvalidRequest:
        return None
    return text.rstrip("\n").split("\n") if root is not None and same(root.data, wanted) else None
