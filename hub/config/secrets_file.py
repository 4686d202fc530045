"""`secrets.yaml`: names and values that the rest of the configuration uses by `!secret NAME`."""

from __future__ import annotations

from hub.config.bounds import Budget
from hub.config.errors import ConfigError, TagError
from hub.config.files import SECRETS_FILE, FileProblem, HomeFiles, content_hash, decode
from hub.config.marks import BROKEN, ConfigMapping, MarkOrigin, start_of
from hub.config.suggest import did_you_mean
from hub.config.yaml_reader import YamlReader
from hub.core.phrases import phrase
from hub.core.secret import Secret


class SecretsFile:
    """The secrets, read on first use.

    Args:
        files: Where it is read.
        errors, warnings: Its problems are added to them; values are never shown.
        hashes: Its content's hash is added under its name.
    """

    def __init__(
        self, files: HomeFiles, errors: list[ConfigError], warnings: list[ConfigError], hashes: dict[str, str]
    ) -> None:
        self._files = files
        self._errors = errors
        self._warnings = warnings
        self._hashes = hashes
        self._missing = False
        self._unreadable = False
        self._secrets: dict[str, Secret] | None = None

    def get(self, name: str) -> Secret:
        """Return the secret `name`.

        Raises:
            TagError: There is none, or the file cannot be read.
        """
        secrets = self._load()
        if name in secrets:
            return secrets[name]
        if self._missing:
            raise TagError(
                phrase("there is no secret {name}, because {file} does not exist", name=name, file=SECRETS_FILE),
                phrase("make it with {name}: …", name=name),
            )
        if self._unreadable:
            raise TagError(
                phrase("the secret {name} is not known, because {file} cannot be read", name=name, file=SECRETS_FILE)
            )
        hint = did_you_mean(name, secrets) or phrase("add a line {name}: … to {file}", name=name, file=SECRETS_FILE)
        raise TagError(phrase("there is no secret {name} in {file}", name=name, file=SECRETS_FILE), hint)

    def used(self) -> list[Secret]:
        """Return all secrets that were read, for redaction."""
        return list((self._secrets or {}).values())

    def _load(self) -> dict[str, Secret]:
        if self._secrets is not None:
            return self._secrets
        self._secrets = {}
        try:
            data = self._files.read(SECRETS_FILE)
            self._hashes[SECRETS_FILE] = content_hash(data)
            text = decode(data, SECRETS_FILE)
        except FileProblem as problem:
            self._missing, self._unreadable = problem.missing, not problem.missing
            if not problem.missing:
                mark = (MarkOrigin(SECRETS_FILE), problem.line, problem.column)
                self._errors.append(ConfigError.at(mark, (), problem.message, problem.hint))
            return self._secrets
        read = YamlReader(MarkOrigin(SECRETS_FILE), None, Budget(), self._errors, self._warnings).read(text)
        if read is None:
            return self._secrets
        if not isinstance(read, ConfigMapping):
            self._unreadable = True
            if read is not BROKEN:
                message = f"{SECRETS_FILE} must hold lines of the form name: value"
                self._errors.append(ConfigError.at(start_of(SECRETS_FILE), (), message))
            return self._secrets
        for name, value in read.items():
            if value is BROKEN:
                continue
            if value is None or isinstance(value, (dict, list)):
                self._errors.append(
                    ConfigError.at(
                        read.key_marks[name],
                        (name,),
                        phrase("the secret {name} must be a text", name=name),
                        phrase("quote it"),
                    )
                )
                continue
            self._secrets[name] = Secret(_written(value), f"!secret {name}")
        return self._secrets


def _written(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(getattr(value, "written", value))
