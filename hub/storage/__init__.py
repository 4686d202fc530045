"""Storage on disk: the hub and history databases, migrations, atomic files, the home directory and its lock.

The parts that write rows define their meaning; configuration files and transcripts have their own parts.
"""
