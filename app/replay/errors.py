class ReplayError(Exception):
    """The replay cannot go on; its text is one clear line for whoever started it."""
