"""The pages of skills, tools and integrations from elsewhere, with the findings of the scan, and their state.

Not here: the skills themselves (`hub/skills`), and installing integrations (`hub/extensions`).
"""
