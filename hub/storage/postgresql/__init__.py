"""The hub database in PostgreSQL, for whoever configures `storage: postgresql:`; nothing else imports it.

Not here: what a store writes and reads, which is the same statements in both databases.
"""
