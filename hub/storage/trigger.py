"""`file`: a file below the home directory was made, changed or removed."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import join_words, quote
from hub.automation.triggers.arming import report_errors
from hub.core.errors import Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Described, In, Invalid, Optional, Required, boolean, ensure_list, string
from hub.security.jail_path import PathRefused, components
from hub.storage.file_watch import HIDDEN, FileWatch

CHANGES = ("created", "modified", "deleted")


def _path(value: Any) -> str:
    text = str(string(value))
    try:
        names = components(text)
    except PathRefused as error:
        raise Invalid(error.message) from error
    if names[:1] == (HIDDEN,):
        raise Invalid(phrase("the hub's own files (.storage) are not watched"))
    return "/".join(names)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    files = host.parts.source(FileWatch)
    if files is None:
        raise Unavailable("files are not watched here")
    wanted = frozenset(config["on"])
    patterns: list[str] = config.get("pattern", [])
    named: str = config["path"]

    def changed(what: str, path: str) -> None:
        name = PurePosixPath(path).name
        if what not in wanted:
            return
        if patterns and not any(fnmatchcase(path if "/" in each else name, each) for each in patterns):
            return
        trigger = {"path": path, "name": name, "change": what, "description": f"{path} was {what}"}
        # Whoever made the file chose its name, unless it is in the configuration.
        host.fire(trigger, tainted=path != named)

    return files.watch(config["path"], changed, is_recursive=config["recursive"])


def _explain(config: Mapping[str, Any]) -> str:
    what = quote(config["path"]) if config["path"] else phrase("a file of the home directory")
    if "pattern" in config:
        what = phrase("{file} like {pattern}", file=what, pattern=join_words(map(quote, config["pattern"]), "or"))
    if config["recursive"]:
        what = phrase("{file} or below it", file=what)
    return phrase(
        "when {file} is {changes}", file=what, changes=join_words(map(_CHANGE_WORDS.__getitem__, config["on"]), "or")
    )


_CHANGE_WORDS = {"created": phrase("created"), "modified": phrase("modified"), "deleted": phrase("deleted")}

KINDS = {
    "file": TriggerKind(
        name="file",
        fields={
            Required("path", description="A file or a folder, relative to the home directory."): Described(
                _path, {"type": "string"}, "path"
            ),
            Optional("on", default=list(CHANGES), description="created, modified, deleted: one or a list."): All(
                ensure_list(In(CHANGES)), lambda found: found or list(CHANGES)
            ),
            Optional("recursive", default=True, description="Whether files in folders below count."): boolean,
            Optional(
                "pattern", description="Only matching names, such as *.md; a pattern with / matches paths."
            ): match_text,
        },
        arm=report_errors(_arm),
        explain=_explain,
        description="A file changed.",
    )
}
