"""Every check there is, in the order in which they are made."""

from __future__ import annotations

from hub.doctor.configuration import CONFIGURATION
from hub.doctor.databases import DATABASES
from hub.doctor.disk import DISK
from hub.doctor.finding import Check
from hub.doctor.integrations import CUSTOM, REQUIREMENTS
from hub.doctor.network import NETWORK
from hub.doctor.permissions import PERMISSIONS
from hub.doctor.running import LOCK, RUNNING
from hub.doctor.runtime import RUNTIME
from hub.doctor.token import HUB_TOKEN
from hub.doctor.workspaces import WORKSPACES

CHECKS: tuple[Check, ...] = (
    RUNTIME,
    PERMISSIONS,
    DISK,
    HUB_TOKEN,
    LOCK,
    CONFIGURATION,
    NETWORK,
    REQUIREMENTS,
    CUSTOM,
    WORKSPACES,
    DATABASES,
    RUNNING,
)
