"""Tools that come with the agent: finding tools by what they do, looking at images, reading the documentation.

What tools are, and how one is called, is in `hub/tools`.
"""
