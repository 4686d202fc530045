"""What every page shares: rendering, forms, live updates, assets, texts and preferences.

Not here: the pages themselves, one folder a group.
"""
