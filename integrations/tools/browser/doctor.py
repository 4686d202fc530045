"""Check that there is a Chromium for the managed profiles."""

from __future__ import annotations

from collections.abc import Iterator

from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, error, warning
from integrations.tools.browser.chromium import INSTALL, find_executable


def _chromium(context: CheckContext) -> Iterator[Finding]:
    if "browser" not in context.config.sections:
        return
    executable = (context.config.get("browser") or {}).get("executable")
    if find_executable(executable) is not None:
        return
    if executable is not None:
        yield error(f"There is no program {executable}; the browser does not start.", "browser: executable", "")
    else:
        yield warning(f"No Chromium was found on this machine: {INSTALL}.", "browser", "apt-get install chromium")


CHECKS = {"chromium": Check("chromium", "Chromium of the browser", _chromium)}
