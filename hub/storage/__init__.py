"""What is kept on disk: the hub and history databases, migrations, atomic files, the home directory and its lock.

What the rows mean belongs to the parts that write them; configuration files and transcripts have parts of their own.
"""
