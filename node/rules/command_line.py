"""Reading a command as it is written: an argv that needs no shell, or shell text; and what runs other programs. Pure.

Nothing is parsed to permit it: a command is an argv only when a shell would read exactly the same words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

COMMAND_CHARS = 8_000

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LOOK_ALIKES = (
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "LATIN",
    "FULLWIDTH",
    "MATHEMATICAL",
    "NO-BREAK",
    "EN ",
    "EM ",
    "IDEOGRAPHIC SPACE",
)
_WORD = r"""(?:[A-Za-z0-9_@%+=:,./-]|'[^'\n\t]*'|"[^"$`\\!\n\t]*")+"""
_ARGV = re.compile(rf"[ \t]*{_WORD}(?:[ \t]+{_WORD})*[ \t]*")
_WORDS = re.compile(_WORD)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_VERSION = re.compile(r"(?<=[a-z])[-.]?\d[\d.]*(?:[-.](?:exe|bin))?$")
_TOKEN = re.compile(r"""[;|&(){}!\n'"`]|<|>+|[ \t]+|[A-Za-z0-9_@%+=:,./-]+|.""", re.S)
_BEGINS = frozenset(";|&(){}!\n'\"`")
_ENDS = frozenset(";|&()<>{}!\n'\"` \t")
"""Behind these a word may name a program: operators, and quotes that a further shell may read."""
_TEXT_WORD = re.compile(r"""[^\s;|&()<>'"`$=]+""")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IN_SHELLS = _names(
    """
    ! . : alias bg bind break builtin case cd command continue coproc declare dirs disown do done elif else
    enable esac eval exec exit export fc fg fi for function getopts hash history if in jobs let local logout
    mapfile popd pushd read readarray readonly return select set shift shopt source suspend then time times trap
    type typeset ulimit umask unalias unset until wait while
    """
)
"""Words that mean something to a shell only."""
_BEFORE = _names("! builtin command coproc do elif else exec if then time until while")
"""Words of a shell that a command follows."""

INTERPRETERS = _names(
    """
    ash awk bash bun bunx chibi-scheme clisp cmake cscript csh csi dart dash deno dotnet elixir erl escript
    expect fish gawk gjs gmake groovy guile iex ipython irb java jimsh jjs jrunscript jshell julia just ksh lein
    lua luajit m4 make mawk mksh mono nawk ninja node nodejs ocaml octave osascript pdksh perl php phpdbg posh
    powershell psql pwsh pypy pytest python qjs racket rake raku rbash rc rhino rscript ruby runghc runhaskell
    sbcl scala scheme sh sqlite stack swipl tclsh tox ts-node tsx uv wish wscript yash zsh
    """
)
"""Programs that run what a file or an argument says."""

WRAPPERS = _names(
    """
    aa-exec abduco ansible apply at batch bwrap capsh catchsegv cgexec choom chpst chroot chrt command coproc
    crontab daemon dbus-launch dbus-run-session doas dtach dumb-init eatmydata entr env envdir exec fakechroot
    fakeroot find firejail flock gdb gosu hyperfine i386 ifne ionice ld ld-linux ld-linux-x86-64.so ld.so
    linux32 linux64 lldb ltrace machinectl mpirun nice nohup nsenter numactl parallel perf pkexec prlimit proot
    pv rlwrap run-parts runcon runuser s6-setuidgid schedtool screen script scriptreplay sem setarch setpriv
    setsid setuidgid sg softlimit ssh-agent sshpass start-stop-daemon stdbuf strace su su-exec sudo sudoedit
    supervisord switch_root systemd-inhibit systemd-nspawn systemd-run taskset time timeout tini tmux toilet
    torify torsocks trickle tsocks unbuffer uncontain unshare usleep valgrind viddy watch watchexec watchman
    wine x86_64 xargs xvfb-run zellij
    """
)
"""Programs that run another program, which their arguments name."""

MULTIPLEXERS = _names(
    """
    7z apk apt apt-get aptitude bazel brew busybox bzr c++ cargo cc clang coreutils ctr curl cvs dd debuild dnf
    docker docker-compose dpkg ed emacs emacsclient ex flatpak ftp ftpget g++ gcc git go gpg gradle gradlew halt
    helm hg ifconfig info insmod install-info ip iptables isql kak kill killall kubectl ld.gold ld.lld less
    lesspipe lftp links ln lynx mail mailx man mc mercurial meson micro modprobe more most mount msgexec
    msgfilter msmtp mutt mv mvn mysql nano nc ncat nerdctl netcat nix nmap npm npx nvi nvim open openssl opkg
    pacman pip pipx pkg pkill pnpm podman poetry poweroff reboot restic rpm rsync rustc rview rvim sash scp sed
    sendmail service sftp shutdown snap socat sort split sqlite ssh svn systemctl tar tcpdump tee telnet
    terraform toybox trap tshark umount uniq unzip vagrant vi view vim vimdiff visudo w3m wall wget wireshark
    write xdg-open yarn yum zip zypper
    """
)
"""Programs that run others by an option, a setting or a sub-command, or that send and fetch."""


class CommandRefused(ValueError):
    """A command that cannot be run as it is written; the text says why."""


@dataclass(frozen=True, slots=True)
class WrittenCommand:
    """A command.

    Attributes:
        text: As it was written.
        words: Program and arguments; empty for shell text.
    """

    text: str
    words: tuple[str, ...] = ()


def read_command(text: str) -> WrittenCommand:
    """Read a command.

    Raises:
        CommandRefused: It is empty, too long, or has characters that people cannot see.
    """
    if not text.strip():
        raise CommandRefused("command: it is empty")
    if len(text) > COMMAND_CHARS:
        raise CommandRefused(f"command: it has {len(text)} characters; at most {COMMAND_CHARS} can be shown and run")
    refuse_unseen("command", text)
    if not _ARGV.fullmatch(text):
        return WrittenCommand(text)
    raw = _WORDS.findall(text)
    words = tuple(_QUOTED.sub(lambda found: found[1] if found[1] is not None else found[2], each) for each in raw)
    if not words[0] or words[0] in _IN_SHELLS or "=" in words[0]:
        return WrittenCommand(text)
    return WrittenCommand(text, words)


def refuse_unseen(what: str, text: str) -> None:
    """Refuse text with control, format or private characters but tab and line feed.

    Raises:
        CommandRefused: It has one.
    """
    found = next((each for each in text if each not in "\n\t" and unicodedata.category(each) in _UNSEEN), None)
    if found is not None:
        raise CommandRefused(f"{what}: it has the invisible character U+{ord(found):04X}; write it without")


def look_alikes(text: str) -> list[str]:
    """Return the names of the characters of a text that can pass for others, each once."""
    names = (unicodedata.name(each, f"U+{ord(each):04X}") for each in dict.fromkeys(text) if not each.isascii())
    return [each for each in names if each.startswith(_LOOK_ALIKES)]


def program_name(word: str) -> str:
    """Return the name that a program is known by: without folder and version, in lower case."""
    return _VERSION.sub("", word.rpartition("/")[2].lower())


def runs_others(words: tuple[str, ...]) -> str | None:
    """Return why a command can run what it does not name as its program; None when that is not known of it."""
    if not words:
        return "it is shell text"
    name = program_name(words[0])
    for kind, names in (("interpreter", INTERPRETERS), ("wrapper", WRAPPERS), ("multi-purpose program", MULTIPLEXERS)):
        if name in names or words[0].rpartition("/")[2].lower() in names:
            return f"{name} is an {kind}" if kind == "interpreter" else f"{name} is a {kind}"
    return None


def candidate_files(command: WrittenCommand) -> list[str]:
    """Return the words of a command that may name files, each once."""
    words = command.words[1:] if command.words else tuple(_TEXT_WORD.findall(command.text))
    values = (each.partition("=")[2] if each.startswith("-") else each for each in words)
    return list(dict.fromkeys(each for each in values if each and not each.startswith("-")))


def run_files(words: tuple[str, ...]) -> tuple[int, bool]:
    """Return from which argument on files are run, and whether the first that exists is run whatever it is like.

    A count of words means: none.
    """
    first = program_name(words[0])
    if first in INTERPRETERS:
        return 1, True
    if first in WRAPPERS:
        inner = next((at for at, each in enumerate(words[1:], 1) if program_name(each) in INTERPRETERS), 0)
        return (inner + 1, True) if inner else (1, False)
    return len(words), False


def run_words(text: str) -> list[tuple[int, int]]:
    """Return the places of the words of shell text that may name files that are run: programs, and what shells read.

    Only whole plain words count. Where there is doubt, a word counts.
    """
    found, begins, reads, whole = [], True, False, True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in _BEGINS:
            begins, whole = True, True
            reads = reads and word in "'\""
        elif word.isspace():
            whole = True
        elif word[0] in "<>":
            begins, reads, whole = False, reads and word == "<", True
        elif not word[0].isascii() or not (word[0].isalnum() or word[0] in "_@%+=:,./-"):
            whole = False
        elif whole:
            following = text[token.end() : token.end() + 1]
            if (begins or reads) and not word.startswith("-") and (not following or following in _ENDS):
                found.append(token.span())
            name = program_name(word)
            reads = name in INTERPRETERS or word in (".", "source") or (reads and word.startswith("-"))
            begins = name in WRAPPERS or name in _BEFORE or (begins and ("=" in word or word.startswith("-")))
    return found
