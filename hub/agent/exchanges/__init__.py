"""Messages between conversations and agents: who may write to whom, the turns they take, and the announcement.

The tool `sessions_send` is in `integrations/tools/sessions`.
"""
