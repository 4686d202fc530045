"""The tools of agents: each folder brings a few that belong together.

Which of them an agent may use, and on whose authority, is not decided here but in hub/tools.
"""
