"""Whether what a line of the log claims is held by what it cites (memory-rules.md section 4, the gates)."""
