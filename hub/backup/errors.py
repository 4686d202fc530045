"""Errors of backups, by how a person can solve them."""

from __future__ import annotations

from hub.core.errors import HubError, InvalidRequest


class BackupFailed(HubError):
    """A backup could not be made, kept or read; nothing of it was left over."""

    code = "BACKUP_FAILED"
    http_status = 503


class BackupDamaged(BackupFailed):
    """An archive is not as written: it is cut short, or bytes of it changed."""

    code = "BACKUP_DAMAGED"
    http_status = 422


class BackupRefused(InvalidRequest):
    """An archive is not a backup of a home, or holds foreign files; nothing of it was used."""

    code = "BACKUP_REFUSED"


class NewerBackup(BackupRefused):
    """A newer Homarus made the backup."""

    code = "NEWER_BACKUP"


class WrongPassphrase(InvalidRequest):
    """The passphrase is missing or is not the one of this backup."""

    code = "WRONG_PASSPHRASE"
