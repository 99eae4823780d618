"""Replaying a conversation file into a running service, as its agent would have posted it."""
