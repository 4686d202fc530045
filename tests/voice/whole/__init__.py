"""A whole hub that hears and speaks with real engines: long runs, with a home that has them (`HOMARUS_VOICE`)."""
