"""`homarus completion`: a script with which a shell completes commands and options by itself, without asking Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from hub.cli.exits import CommandFailed
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json

HELP_CHARS = 60
Words = Mapping[str, str]
"""What may follow, each with what it means."""

_BASH = """\
_homarus() {
    local cur=${COMP_WORDS[COMP_CWORD]} at= word line reply
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in -*) continue ;; esac
        _homarus_of "${at:+$at }$word" && at="${at:+$at }$word"
    done
    _homarus_of "$at ${COMP_WORDS[COMP_CWORD-1]}" || _homarus_of "$at"
    COMPREPLY=()
    while IFS= read -r line; do
        word=${line%%:*}
        case "$word" in -*) case "$cur" in -*) ;; *) continue ;; esac ;; esac
        case "$word" in "$cur"*) [ -z "$word" ] || COMPREPLY+=("$word") ;; esac
    done <<< "$reply"
}
complete -o default -F _homarus homarus
"""
_ZSH = """\
_homarus() {
    local cur=${words[CURRENT]} at= word line reply
    local -a shown
    for word in "${(@)words[2,CURRENT-1]}"; do
        case "$word" in -*) continue ;; esac
        _homarus_of "${at:+$at }$word" && at="${at:+$at }$word"
    done
    _homarus_of "$at ${words[CURRENT-1]}" || _homarus_of "$at"
    for line in "${(@f)reply}"; do
        [[ -z $line || ( $line == -* && $cur != -* ) ]] || shown+=("$line")
    done
    if (( $#shown )); then _describe homarus shown; else _files; fi
}
if [[ $funcstack[1] == _homarus ]]; then _homarus "$@"; else compdef _homarus homarus; fi
"""
_FISH = """\
function __homarus_complete
    set -l at ''
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    for word in $words[2..-1]
        string match -q -- '-*' $word; and continue
        set -l next (string trim -- "$at $word")
        __homarus_of $next >/dev/null; and set at $next
    end
    set -l shown (__homarus_of "$at $words[-1]"; or __homarus_of "$at")
    string match -q -- '-*' $cur; or set shown (string match -v -- '-*' $shown)
    if test (count $shown) -gt 0
        printf '%s\\n' $shown
    else
        __fish_complete_path $cur
    end
end
complete -c homarus -f -a '(__homarus_complete)'
"""


@click.command("completion", cls=CliCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@home_option
@json_option
def command(shell: str, home: Path, as_json: bool) -> None:
    """Print a script with which SHELL completes the commands. Make it again after an update, it asks nobody.

    bash: into ~/.local/share/bash-completion/completions/homarus; zsh: into _homarus in a directory of $fpath;
    fish: into ~/.config/fish/completions/homarus.fish.

    Example:
      homarus completion bash > ~/.local/share/bash-completion/completions/homarus
      homarus completion fish > ~/.config/fish/completions/homarus.fish
    """
    from hub.cli.app import app

    script = script_for(shell, app)
    if as_json:
        print_json({"shell": shell, "script": script})
        return
    click.echo(script, nl=False)


def script_for(shell: str, app: click.Group) -> str:
    """Return the completion script of a command line for bash, zsh or fish."""
    table = dict(_words(app, ()))
    if shell == "fish":
        cases = "".join(f"        case {_quoted(at)}\n            {_printed(words)}\n" for at, words in table.items())
        known = f"    switch \"$argv[1]\"\n{cases}        case '*'\n            return 1\n    end\n"
        return f"function __homarus_of\n{known}end\n{_FISH}"
    cases = "".join(f"        {_quoted(at)}) reply={_quoted(_lines(words))} ;;\n" for at, words in table.items())
    known = f'_homarus_of() {{\n    case "$1" in\n{cases}        *) return 1 ;;\n    esac\n}}\n'
    return f"#compdef homarus\n{known}{_ZSH}" if shell == "zsh" else known + _BASH


def _words(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, Words]]:
    """Yield what may follow each command, and each option that has choices."""
    context = click.Context(command)
    below: dict[str, click.Command] = {}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            try:
                found = command.get_command(context, name)
            except CommandFailed:  # of an integration that cannot be read
                continue
            if found is not None:
                below[name] = found
    words = {name: _short(each.short_help) for name, each in below.items()}
    at = " ".join(path)
    for given in command.get_params(context):
        choices = dict.fromkeys(given.type.choices, "") if isinstance(given.type, click.Choice) else {}
        if isinstance(given, click.Option):
            words |= {name: _short(given.help) for name in given.opts if name.startswith("--")}
            if choices:
                yield from ((f"{at} {name}", choices) for name in given.opts)
        else:
            words |= choices
    yield at, words
    for name, each in below.items():
        yield from _words(each, (*path, name))


def _short(help: str | None) -> str:
    text = " ".join((help or "").split())
    return text if len(text) <= HELP_CHARS else f"{text[: HELP_CHARS - 1]}…"


def _lines(words: Words) -> str:
    return "\n".join(f"{name}:{told}" if told else name for name, told in words.items())


def _printed(words: Words) -> str:
    cells = (_quoted(f"{name}\t{told}" if told else name) for name, told in words.items())
    return f"printf '%s\\n' {' '.join(cells)}" if words else "true"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
