"""Patterns of unregistered secrets: keys of well-known services, bearers, private keys.

Each pattern has a piece of text without which it cannot match; looking for that costs next to nothing.
Unbounded repetitions start only where no character of the same kind precedes them, so that no text is read twice.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hub.core.lazy_pattern import LazyPattern


class SecretPattern(Struct, frozen=True):
    """A pattern that identifies a secret.

    Attributes:
        mark: One symbol that is in any text it matches, rare in prose: looking for it is the cheapest test there is.
        hints: At least one of these is in any text it matches, in lower case if `any_case`.
        pattern: Its group `secret` is what must be hidden; without one, all of the match.
        any_case: Whether it matches in capitals too.
    """

    mark: str
    hints: tuple[str, ...]
    pattern: LazyPattern
    any_case: bool

    @property
    def group(self) -> str | int:
        """The group that must be hidden."""
        return "secret" if "secret" in self.pattern.compiled.groupindex else 0


def _shape(mark: str, hints: tuple[str, ...], pattern: str, *, any_case: bool = False) -> SecretPattern:
    return SecretPattern(mark, hints, LazyPattern(pattern, re.IGNORECASE if any_case else 0), any_case)


_END = r"(?![A-Za-z0-9_-])"

SECRET_PATTERNS: tuple[SecretPattern, ...] = (
    _shape("_", ("homhub_", "homtok_", "homweb_", "homdev_"),
           r"\bhom(?:hub|tok|web|dev)_(?:[a-z0-9-]{1,63}\.)?[A-Za-z0-9_-]{43}"),
    _shape("_", ("homacc_",), r"\bhomacc_(?:[a-z0-9-]{1,63}\.)?[A-Za-z0-9]{16,64}\.[0-9]{10,11}\.[0-9a-f]{64}"),
    _shape("-", ("sk-",), r"\bsk-[A-Za-z0-9_-]{16,256}"),
    _shape("A", ("AIza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    _shape("_", ("gsk_", "hf_", "npm_", "r8_", "fw_"), r"\b(?:gsk_|hf_|npm_|r8_|fw_)[A-Za-z0-9_-]{20,256}"),
    _shape("-", ("xai-", "pplx-", "tvly-"), r"\b(?:xai-|pplx-|tvly-)[A-Za-z0-9_-]{20,256}"),
    _shape("_", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
           r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    _shape("-", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,255}"),
    _shape("-", ("xox", "xapp-"), r"\b(?:xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10,256}"),
    _shape("A", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    _shape("_", ("aws_secret",),
           r"aws_secret(?:_access)?_key['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?P<secret>[A-Za-z0-9/+=]{40})", any_case=True),
    _shape(":", (":AA",), rf"\b[0-9]{{6,12}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    _shape("J", ("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _shape("", ("bearer",),
           r"\bbearer\s{1,8}(?P<secret>(?=[^\s]{0,300}[0-9]|[^\s]{24})[A-Za-z0-9._~+/=-]{8,4096})", any_case=True),
    _shape("", ("authorization",),
           r"\bauthorization['\"]?\s{0,8}[:=]\s{0,8}['\"]?(?:[A-Za-z]{3,12}\s{1,4})?(?P<secret>[^\s'\",]{6,4096})",
           any_case=True),
    _shape("-", ("PRIVATE KEY-----",),
           r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"),
    _shape("@", ("://",), r"://[^\s/@:]{0,256}:(?P<secret>[^\s/@]{1,256})@"),
    _shape("=", ("key=", "token=", "secret=", "password=", "sig=", "signature="),
           r"[?&#](?:[a-z0-9_.-]{0,40}(?:key|token|secret|password)|sig|signature)=(?P<secret>[^\s&#'\"<>]{6,4096})",
           any_case=True),
)  # fmt: skip
