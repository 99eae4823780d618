"""How much of what is later asked about a conversation can be read in its compiled context."""
