"""Messages between conversations and agents: who may write to whom, the turns to and fro, and the announcement.

The tool `sessions_send` is in `integrations/tools/sessions`.
"""
