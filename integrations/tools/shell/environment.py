"""The environment of commands on the hub's machine: an allow-list; nothing else of the hub's own is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from hub.core.errors import InvalidRequest
from hub.core.secret import Secret
from hub.tools.command_line import refuse_unseen
from integrations.tools.shell.binding import PATH

VALUE_CHARS = 1_000

_TAKEN = ("HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")
_MAY_BE_SET = re.compile(r"LANG|LC_[A-Z]{1,20}|TZ|TERM|COLUMNS|LINES|NO_COLOR|CI")
_NEVER = re.compile(
    r"PATH|HOME|IFS|ENV|BASH.*|SHELL.*|PS[0-9]|PROMPT_COMMAND|CDPATH|LD_.*|DYLD_.*|GCONV.*|GLIBC.*|MALLOC_.*|LOCPATH"
    r"|PYTHON.*|PERL.*|RUBY.*|NODE_.*|NPM_.*|JAVA_.*|_JAVA.*|JDK_.*|LUA_.*|PHP.*|GIT_.*|SSH_.*|HG.*|EDITOR|VISUAL|PAGER"
    r"|LESS.*|MAN.*|BROWSER|TERMINFO.*|HOSTALIASES|RES_OPTIONS|RESOLV.*|ZDOTDIR|MAKE.*|RUSTC.*|CARGO.*|GO.*|.*_INIT"
    r"|VIMINIT|EXINIT|XDG_.*|TMPDIR|DOCKER_.*|KUBE.*|HTTPS?_PROXY|ALL_PROXY|NO_PROXY|CURL_.*|SSL_.*|OPENSSL_.*"
)
"""Variables by which programs are made to do other things; not even skills can set them."""


def checked_environment(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a call sets.

    Raises:
        InvalidRequest: One of them cannot be set, or has characters that people cannot see.
    """
    for name, value in wanted.items():
        if not _MAY_BE_SET.fullmatch(name):
            raise InvalidRequest(
                f"env: {name!r:.80} cannot be set; only LANG, LC_*, TZ, TERM, COLUMNS, LINES, NO_COLOR and CI can"
            )
        if len(value) > VALUE_CHARS:
            raise InvalidRequest(f"env: the value of {name} is longer than {VALUE_CHARS} characters")
        refuse_unseen(f"env: {name}", value)
    return dict(wanted)


def of_skills(variables: Mapping[str, Secret]) -> dict[str, str]:
    """Return the variables of skills for a program, without those that make programs do other things."""
    return {name: value.reveal() for name, value in variables.items() if not _NEVER.fullmatch(name.upper())}


def hub_environment(wanted: Mapping[str, str], skills: Mapping[str, str], *, terminal: bool) -> dict[str, str]:
    """Return the whole environment of a program on the hub's machine."""
    own = {name: os.environ[name] for name in _TAKEN if name in os.environ}
    fixed = {"PATH": PATH, "TERM": "xterm-256color" if terminal else "dumb"}
    return {**skills, "LANG": "C.UTF-8", **own, **fixed, **wanted}
