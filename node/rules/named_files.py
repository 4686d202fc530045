"""The files that a command names: those an approval is bound to, and those that run from a copy. Pure.

When in doubt, a word is a file. A program by its bare name is none: it is looked for in PATH, never here.
"""

from __future__ import annotations

import posixpath
import re

from .command_line import INTERPRETERS, MULTIPLEXERS, WRAPPERS, WrittenCommand, names, program_name

FOLDERS_LIMIT = 10

_TOKEN = re.compile(r"""[;|&(){}!\n'"`]|<|>+|[ \t]+|[A-Za-z0-9_@%+=:,./-]+|.""", re.S)
_BEGINS = frozenset(";|&(){}!\n'\"`")
_ENDS = frozenset(";|&()<>{}!\n'\"` \t")
"""Behind these a word may name a program: operators, and quotes that a further shell may read."""
_WORD = re.compile(r"""[^\s;|&()<>'"`$]+""")
_IS_TEXT = re.compile(r"""[\s;|&()<>'"`$]""")
_ENTERS = re.compile(
    r"""(?:(?<![\w./-])(?:cd|pushd|chdir)|(?<![\w-])(?:-C|--chdir|--directory|--cwd|--prefix))[\s=]+['"]?"""
    r"""([^\s;|&()<>'"`$]+)"""
)
_BEFORE = names("! builtin command coproc do elif else exec if then time until while")
"""Words of a shell that a command follows."""
_SHELLS = names("ash bash csh dash fish ksh mksh oksh pdksh posh rc rbash sash sh tcsh yash zsh")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile")
_PYTHON = ("setup.py", "pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "conftest.py", "noxfile.py")
_READ_UNNAMED = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "node", "bun"), ("package.json", ".npmrc", "index.js")),
    **dict.fromkeys(("docker", "docker-compose", "podman"), _COMPOSE),
    **dict.fromkeys(("pytest", "tox", "nox", "pip", "poetry", "uv"), _PYTHON),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml"),
    "cmake": ("CMakeLists.txt",),
    "git": (".git/config", ".gitattributes"),
    "just": ("justfile", "Justfile"),
    "ninja": ("build.ninja",),
    "rake": ("Rakefile",),
}
"""What programs read of the folder they run in, without its name on the command line."""
_MODULE_ENDS = (".py", "/__main__.py", "/__init__.py", ".js", "/index.js", "/package.json", ".rb")


def candidate_files(command: WrittenCommand) -> list[str]:
    """Return what may name files, each once: words, paths in code and entered folders, and files read implicitly."""
    words = list(command.words or _WORD.findall(command.text))
    words += [part for each in command.words if _IS_TEXT.search(each) for part in _WORD.findall(each)]
    found: list[str] = []
    for at, each in enumerate(words):
        found += _READ_UNNAMED.get(program_name(each), ())
        if at or not command.words:
            found += (each, each.partition("=")[2], each.rpartition("=")[2], each.lstrip("@"))
        if each.startswith("-") and not each.startswith("--"):
            found.append(each[2:])
        elif program_name(each) not in MULTIPLEXERS and not each.endswith("/"):
            found += (f"{each.replace('.', '/')}{end}" for end in _MODULE_ENDS if at and words[at - 1] == "-m")
            found += (f"{each}{end}" for end in _MODULE_ENDS if at and program_name(words[at - 1]) in ("node", "bun"))
    named = dict.fromkeys(each for each in found if each and not each.startswith("-"))
    return list(dict.fromkeys(posixpath.join(place, each) for place in entered_folders(command) for each in named))


def entered_folders(command: WrittenCommand) -> list[str]:
    """Return the folders that a command runs in: the first, which is "", and those that it enters."""
    places, last = [""], ""
    for folder in _ENTERS.findall("\n".join(command.words) if command.words else command.text)[:FOLDERS_LIMIT]:
        last = posixpath.join(last, folder)
        places += (last, folder)
    return list(dict.fromkeys(places))


def run_arguments(words: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the arguments that may name files that are run, and how.

    `script`: an interpreter reads it, whatever it is like; `path`: by a path with a folder; `text`: paths may be in it.
    """
    name = program_name(words[0])
    opaque, interpreter, code = name in INTERPRETERS or name in WRAPPERS, "", False
    if not opaque and name not in MULTIPLEXERS:
        return []
    found = []
    for at, word in enumerate(words):
        known = program_name(word)
        if opaque and not interpreter and known in INTERPRETERS:
            interpreter = known
        elif at and _IS_TEXT.search(word):
            found.append((at, "text"))
            code = False
        elif word.startswith("-"):
            code = _takes_code(interpreter, word)
            found.append((at, "path"))
        elif at and opaque:
            found.append((at, "script" if interpreter and not code else "path"))
            code = False
    return found


def run_words(text: str) -> list[tuple[int, int, bool]]:
    """Return the words of shell text that may name files that are run: where they begin and end, and whether an
    interpreter reads it, whatever it is like.

    Only whole plain words count. Where there is doubt, a word counts.
    """
    found, begins, reads, first, whole = [], True, "", False, True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in _BEGINS:
            begins, whole = True, True
            reads, first = (reads, first) if word in "'\"" else ("", False)
        elif word.isspace():
            whole = True
        elif word[0] in "<>":
            begins, reads, whole = False, reads if word == "<" else "", True
        elif not word[0].isascii() or not (word[0].isalnum() or word[0] in "_@%+=:,./-"):
            whole = False
        elif whole:
            following = text[token.end() : token.end() + 1]
            if (
                (reads or (begins and "/" in word))
                and not word.startswith("-")
                and (not following or following in _ENDS)
            ):
                found.append((*token.span(), first))
                first = False
            name = program_name(word)
            if name in INTERPRETERS or word in (".", "source"):
                reads, first = name, True
            elif word.startswith("-") and _takes_code(reads, word):
                reads, first = "", False
            begins = name in WRAPPERS or name in _BEFORE or (begins and ("=" in word or word.startswith("-")))
    return found


def _takes_code(interpreter: str, option: str) -> bool:
    """Whether code, or the name of a module, follows an option of an interpreter, and no file."""
    if option.startswith("--"):
        return option in ("--command", "--eval", "--execute", "--print")
    if interpreter in _SHELLS:
        return "c" in option
    return option[-1:] in (("c", "m") if interpreter in ("python", "pypy", "") else ("e", "E"))
