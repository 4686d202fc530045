"""Checks whether the packages an integration needs are installed, and names the command that installs them."""

from __future__ import annotations

from hub.core import extras
from hub.integration.errors import MissingRequirement
from hub.integration.manifest import Manifest


def check_requirements(manifest: Manifest) -> None:
    """Check that every required package is installed; whether its version fits is for the installer.

    Raises:
        MissingRequirement: One is not; the message names it and the command.
    """
    missing = [each for each in manifest.requirements if not is_installed(each)]
    if missing:
        raise missing_requirement(manifest, ", ".join(missing))


def missing_requirement(manifest: Manifest, what: str) -> MissingRequirement:
    """Return the error that names a missing package and the command that installs it."""
    command = install_command(manifest, what)
    return MissingRequirement(f"{manifest.domain} needs {what}, which is not installed; run: {command}", command)


def install_command(manifest: Manifest, what: str = "") -> str:
    """Return the command that installs what an integration needs, for a checkout or an installed package."""
    if manifest.extra:
        return extras.install_command(manifest.extra)
    packages = manifest.requirements or tuple(part.strip() for part in what.split(",") if part.strip())
    return "uv pip install " + " ".join(f"'{each}'" for each in packages)


def is_installed(requirement: str) -> bool:
    """Whether a package is there, in whatever version."""
    name = extras.package_name(requirement)
    if not name:
        return False
    # Most homes have no integration with requirements, and this module costs the start 15 ms.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
