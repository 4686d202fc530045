"""Decides whether a command runs on the hub's machine without asking, and why not. Pure but for workspace checks."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct

from hub.core.phrases import phrase
from hub.security.jail_path import PathRefused
from hub.security.root import Root
from hub.tools.command_line import runs_others
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.binding import BoundCommand
from node.rules.allowed_words import may_match_wildcard
from node.rules.harmless import Grammar, grammar_of, path_operands


class CommandVerdict(StrEnum):
    """The decision about a command, as the log records it."""

    HARMLESS = "harmless"
    ALLOWED = "allowed"
    RULE = "rule"
    FULL = "full"
    ONCE = "once"
    ALWAYS = "always"
    SANDBOX = "sandbox"
    REFUSED = "refused"


class CommandJudgement(Struct, frozen=True):
    """A verdict; without one the owner is asked.

    Attributes:
        why: Why it needs approval, for people.
        lists: Whether it prints nothing of the content of files.
        may_persist: Whether exactly this command can be allowed for good.
    """

    verdict: CommandVerdict | None
    why: str = ""
    lists: bool = False
    may_persist: bool = False


def question_of(bound: BoundCommand, why: str) -> str:
    """Return the approval question about a command."""
    if not bound.scripts:
        return phrase("The assistant wants to run this on the hub's machine: {why}.", why=why)
    return phrase(
        "The assistant wants to run this on the hub's machine: {why}. The files that a script names are looked at "
        "again when it starts; what is exchanged after that, and what else it reads, is not.",
        why=why,
    )


def judge(
    bound: BoundCommand,
    rules: ExecRules,
    *,
    plain: bool,
    view: Root,
    has_rule: Callable[[BoundCommand], bool],
    shared: bool = False,
) -> CommandJudgement:
    """Return the decision about an owner's command.

    Args:
        plain: Whether it sets no environment and no terminal.
        view: The workspace as the conversation sees it.
        has_rule: Whether the owner allowed exactly this for good.
        shared: Whether programs in a sandbox write there: they can replace a judged file with a link.
    """
    words = bound.command.words
    base = posixpath.relpath(bound.workdir, posixpath.realpath(view.path))
    is_here = base != ".." and not base.startswith("../")
    other = runs_others(words) or runs_others((bound.path,))
    grammar = grammar_of(words) if other is None and plain and bound.system and is_here else None
    is_harmless = grammar is not None and _is_within(bound, base, grammar, view)
    may_swap = shared and grammar is not None and bool(path_operands(words, grammar))
    if grammar is not None and is_harmless and not may_swap:
        return CommandJudgement(CommandVerdict.HARMLESS, lists=grammar.lists)
    if rules.mode == "full":
        return CommandJudgement(CommandVerdict.FULL)
    if other is not None:
        if not words:
            return CommandJudgement(None, phrase("it is shell text, which is asked about each time"))
        why = phrase("{program} can start other programs, which is asked about each time", program=words[0])
        return CommandJudgement(None, why)
    if not plain:
        return CommandJudgement(None, phrase("it has a terminal or an environment of its own"))
    if not bound.system:
        return CommandJudgement(None, phrase("{path} is not a program of the system", path=bound.path))
    named = (each for each in words[1:] if may_match_wildcard(each))
    if is_here and rules.allows(words) and all(_is_seen(view, base, each, folders=True) for each in named):
        return CommandJudgement(CommandVerdict.ALLOWED)
    if may_swap:
        return CommandJudgement(None, phrase("programs in a sandbox write there, and can exchange the files it names"))
    if has_rule(bound):
        return CommandJudgement(CommandVerdict.RULE)
    return CommandJudgement(None, phrase("it is not known to be harmless"), may_persist=True)


def _is_within(bound: BoundCommand, base: str, grammar: Grammar, view: Root) -> bool:
    """Whether a command stays within the visible workspace, without symlinks; missing files count as inside.

    What prints files is given files alone: in a folder it would go by symlinks, and to what is hidden.
    """
    if PurePosixPath(bound.path).name != bound.command.words[0] or not _is_seen(view, base, ".", folders=True):
        return False
    operands = path_operands(bound.command.words, grammar)
    return all(_is_seen(view, base, each, folders=grammar.lists) for each in operands)


def _is_seen(view: Root, base: str, word: str, *, folders: bool) -> bool:
    """Whether a word names a file that the conversation sees, or nothing."""
    path = posixpath.normpath(posixpath.join(base, word))
    try:
        found = view.stat(path) if path == "." or Root(view.path).exists(path) else None
    except (PathRefused, OSError):
        return False
    return found is None or found.is_file or (found.is_dir and folders)
