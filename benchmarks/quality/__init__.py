"""Measures how much of what is later asked about a conversation its compiled context holds."""
