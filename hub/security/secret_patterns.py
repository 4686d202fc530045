"""What secrets look like when nobody told us of them: keys of well-known services, bearers, private keys.

Each pattern stands beside a piece of text without which it cannot match: looking for that costs next to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A shape that gives a secret away.

    Attributes:
        hints: At least one of these is in any text it matches, letter by letter or in the other case.
        pattern: Its group `secret` is what must not be seen; without one, all of the match.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(hints: tuple[str, ...], pattern: str, flags: int = 0) -> SecretPattern:
    return SecretPattern(hints, re.compile(pattern, flags))


_END = r"(?![A-Za-z0-9_-])"

SECRET_PATTERNS: tuple[SecretPattern, ...] = (
    _shape(("hom",), r"\bhom(?:hub|tok|web|dev)_[A-Za-z0-9_-]{43}"),
    _shape(("sk-",), r"\bsk-[A-Za-z0-9_-]{16,256}"),
    _shape(("AIza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    _shape(("gsk_", "xai-", "hf_", "npm_", "pplx-", "r8_", "tvly-", "fw_"),
           r"\b(?:gsk_|xai-|hf_|npm_|pplx-|r8_|tvly-|fw_)[A-Za-z0-9_-]{20,256}"),
    _shape(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
           r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,255})"),
    _shape(("xox", "xapp-"), r"\b(?:xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10,256}"),
    _shape(("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    _shape(("aws_secret",), r"aws_secret(?:_access)?_key['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?P<secret>[A-Za-z0-9/+=]{40})",
           re.IGNORECASE),
    _shape((":AA",), rf"\b[0-9]{{6,12}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    _shape(("eyJ",), r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _shape(("bearer",), r"\bbearer\s{1,8}(?P<secret>(?=[^\s]{0,300}[0-9]|[^\s]{24})[A-Za-z0-9._~+/=-]{8,4096})",
           re.IGNORECASE),
    _shape(("authorization",),
           r"\bauthorization['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?:[A-Za-z]{3,12}\s{1,4})?(?P<secret>[^\s'\",]{6,4096})",
           re.IGNORECASE),
    _shape(("private key-----",),
           r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"),
    _shape(("://",), r"://[^\s/@:]{0,256}:(?P<secret>[^\s/@]{1,256})@"),
    _shape(("key=", "token=", "secret=", "password=", "sig=", "signature="),
           r"[?&#](?:[a-z0-9_.-]{0,40}(?:key|token|secret|password)|sig|signature)=(?P<secret>[^\s&#'\"<>]{6,4096})",
           re.IGNORECASE),
)  # fmt: skip
