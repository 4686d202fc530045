"""The environment of commands on the hub's machine: an allow-list; nothing else of the hub's own is in it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.core.secret import Secret
from integrations.tools.shell.binding import PATH
from node.rules import environment
from node.rules.command_line import CommandRefused

_TAKEN = ("HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")
_NEVER = LazyPattern(
    r"(?!(?!LD_|DYLD_).*_(?:TOKEN|KEY|SECRET|PASSWORD|PAT|CREDENTIALS)$)(?:PATH|HOME|IFS|ENV|BASH.*|SHELL.*|PS[0-9]|CDPATH"
    r"|PROMPT_COMMAND|LD_.*|DYLD_.*|GCONV.*|GLIBC.*|MALLOC_.*|LOCPATH|NLSPATH|PYTHON.*|PERL.*|RUBY.*|NODE_.*|NPM_.*"
    r"|JAVA_.*|_JAVA.*|JDK_.*|LUA_.*|PHP.*|GIT_.*|SSH_.*|HG.*|EDITOR|VISUAL|PAGER|LESS.*|MAN(?:PAGER|PATH|OPT)|BROWSER"
    r"|TERMINFO.*|TERMCAP|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|RESOLV.*|ZDOTDIR|MAKE.*|MFLAGS|RUST.*|CARGO.*"
    r"|GO(?:PATH|ROOT|FLAGS|PROXY|ENV|BIN|DEBUG|TOOLCHAIN)|.*_INIT|VIMINIT|EXINIT|XDG_.*|TMPDIR|DOCKER_.*|KUBE.*"
    r"|[A-Z]+_PROXY|CURL_.*|SSL_.*|OPENSSL_.*)"
)
"""Variables by which programs are made to do other things; neither skills nor secrets can set them."""


def check_environment(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a call sets.

    Raises:
        InvalidRequest: One of them cannot be set, or has characters that people cannot see.
    """
    try:
        return environment.check_environment(wanted)
    except CommandRefused as error:
        raise InvalidRequest(str(error)) from None


def allowed_variables(variables: Mapping[str, Secret]) -> dict[str, str]:
    """Return the variables of skills and secrets for a program, without those that make programs do other things."""
    return {name: value.reveal() for name, value in variables.items() if not _NEVER.fullmatch(name.upper())}


def hub_environment(wanted: Mapping[str, str], given: Mapping[str, str], *, terminal: bool) -> dict[str, str]:
    """Return the whole environment of a program on the hub's machine."""
    own = {name: os.environ[name] for name in _TAKEN if name in os.environ}
    fixed = {"PATH": PATH, "TERM": "xterm-256color" if terminal else "dumb"}
    return {**given, "LANG": "C.UTF-8", **own, **fixed, **wanted}
