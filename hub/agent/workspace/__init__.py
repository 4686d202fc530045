"""Agents' workspaces: their folders, the files they begin with, BOOT.md and the avatar.

Tools that read and write there are integrations.
"""
