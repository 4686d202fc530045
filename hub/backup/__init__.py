"""Backups: one archive of a home, where copies of it go, how long they are kept, and how a home is restored from one.

Not here: how the databases are opened and migrated (`hub/storage`).
"""
