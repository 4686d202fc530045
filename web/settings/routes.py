"""Routes of the configuration pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hub.backup.component import EVENT_BACKUP
from hub.core.events import EventBus, Unsubscribe
from hub.core.surfaces import ADMIN, Route
from hub.update.component import EVENT_UPDATE
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.page_routes import TEXT_LIMIT_BYTES, form, page
from web.core.pulse import PagePulse

if TYPE_CHECKING:
    from web.settings.backup_page import BackupPage
    from web.settings.configuration_page import ConfigurationPage
    from web.settings.logs_page import LogsPage
    from web.settings.move_page import MovePage
    from web.settings.people_page import PeoplePage
    from web.settings.security_page import SecurityPage
    from web.settings.settings_page import SettingsPage
    from web.settings.status_page import StatusPage
    from web.settings.update_page import UpdatePage


UPLOAD_LIMIT_BYTES = 64 * 1024**3
"""The most that a page takes that reads the body itself; each bounds it further."""


def serve_backup_topic(bus: EventBus, live: LiveUpdates, pulse: PagePulse) -> list[Unsubscribe]:
    """Serve the live topic of the page of backups and keep it up to date; return what stops that."""
    live.add_topic(pulse.topic, pulse.state, ADMIN)
    return [bus.listen(EVENT_BACKUP, lambda _: pulse.beat())]


def serve_update_topic(bus: EventBus, live: LiveUpdates, pulse: PagePulse) -> list[Unsubscribe]:
    """Serve the live topic of the page of updates and keep it up to date; return what stops that."""
    live.add_topic(pulse.topic, pulse.state, ADMIN)
    return [bus.listen(EVENT_UPDATE, lambda _: pulse.beat())]


def update_routes(update: LazyPages[UpdatePage]) -> list[Route]:
    """Return the routes of updates of Homarus."""
    return [
        page("/settings/update", update.handler(lambda each: each.show), ADMIN),
        form("/settings/update/check", update.handler(lambda each: each.check), ADMIN),
        form("/settings/update/run", update.handler(lambda each: each.run), ADMIN),
    ]


def backup_routes(backup: LazyPages[BackupPage]) -> list[Route]:
    """Return the routes of backups."""
    upload = form("/settings/backup/upload", backup.handler(lambda each: each.upload), ADMIN, UPLOAD_LIMIT_BYTES)
    return [
        page("/settings/backup", backup.handler(lambda each: each.show), ADMIN),
        page("/settings/backup/download", backup.handler(lambda each: each.download), ADMIN),
        page("/settings/backup/restore", backup.handler(lambda each: each.preview), ADMIN),
        form("/settings/backup/create", backup.handler(lambda each: each.create), ADMIN),
        form("/settings/backup/verify", backup.handler(lambda each: each.verify), ADMIN),
        form("/settings/backup/delete", backup.handler(lambda each: each.delete), ADMIN),
        replace(upload, streams=True),
        form("/settings/backup/open", backup.handler(lambda each: each.open), ADMIN),
        form("/settings/backup/restore", backup.handler(lambda each: each.restore), ADMIN),
        form("/settings/backup/back", backup.handler(lambda each: each.go_back), ADMIN),
        form("/settings/backup/forget", backup.handler(lambda each: each.forget), ADMIN),
    ]


def security_routes(security: LazyPages[SecurityPage]) -> list[Route]:
    """Return the routes of the security audit."""
    return [
        page("/settings/security", security.handler(lambda each: each.show), ADMIN),
        form("/settings/security/mend", security.handler(lambda each: each.mend), ADMIN),
    ]


def move_routes(move: LazyPages[MovePage]) -> list[Route]:
    """Return the routes of moving in."""
    return [
        page("/settings/move", move.handler(lambda each: each.show), ADMIN),
        replace(
            form("/settings/move/upload", move.handler(lambda each: each.upload), ADMIN, UPLOAD_LIMIT_BYTES),
            streams=True,
        ),
        form("/settings/move/forget", move.handler(lambda each: each.forget), ADMIN),
        form("/settings/move/apply", move.handler(lambda each: each.apply), ADMIN),
        form("/settings/move/undo", move.handler(lambda each: each.undo), ADMIN),
    ]


def form_routes(
    settings: LazyPages[SettingsPage],
    people: LazyPages[PeoplePage],
    logs: LazyPages[LogsPage],
    status: LazyPages[StatusPage],
) -> list[Route]:
    """Return the routes of the settings with forms, which need a hub that is not in recovery mode."""
    return [
        page("/settings", settings.handler(lambda each: each.general), ADMIN),
        page("/settings/network", settings.handler(lambda each: each.network), ADMIN),
        page("/settings/privacy", settings.handler(lambda each: each.privacy), ADMIN),
        page("/settings/privacy/remembered", settings.handler(lambda each: each.remembered), ADMIN),
        form("/settings/privacy/forget", settings.handler(lambda each: each.forget), ADMIN),
        form("/settings/save", settings.handler(lambda each: each.save), ADMIN),
        page("/settings/status", status.handler(lambda each: each.show), ADMIN),
        page("/settings/status/diagnostics", status.handler(lambda each: each.diagnostics), ADMIN),
        form("/settings/status/fix", status.handler(lambda each: each.fix), ADMIN),
        form("/settings/status/ignore", status.handler(lambda each: each.ignore), ADMIN),
        page("/settings/people", people.handler(lambda each: each.show), ADMIN),
        form("/settings/people/add", people.handler(lambda each: each.add_person), ADMIN),
        page("/settings/people/person", people.handler(lambda each: each.person), ADMIN),
        form("/settings/people/person", people.handler(lambda each: each.edit), ADMIN),
        form("/settings/people/remove", people.handler(lambda each: each.remove), ADMIN),
        form("/settings/people/token", people.handler(lambda each: each.add_token), ADMIN),
        form("/settings/people/revoke", people.handler(lambda each: each.revoke), ADMIN),
        page("/settings/logs", logs.handler(lambda each: each.show), ADMIN),
    ]


def routes(configuration: LazyPages[ConfigurationPage]) -> list[Route]:
    """Return the routes."""
    return [
        page("/settings/files", configuration.handler(lambda each: each.show), ADMIN),
        page("/settings/files/history", configuration.handler(lambda each: each.history), ADMIN),
        form("/config/check", configuration.handler(lambda each: each.check), ADMIN, TEXT_LIMIT_BYTES),
        form("/config/complete", configuration.handler(lambda each: each.complete), ADMIN, TEXT_LIMIT_BYTES),
        form("/config/save", configuration.handler(lambda each: each.save), ADMIN, TEXT_LIMIT_BYTES),
        form("/config/restore", configuration.handler(lambda each: each.restore), ADMIN),
        form("/config/reload", configuration.handler(lambda each: each.reload), ADMIN),
    ]
