"""Many homes in a worker: who owns which home, and what a worker does with those that are its own.

Not here: what a home is (a `Hub` as ever), and the statements (`hub/storage/postgresql`). Nothing else imports it.
"""
