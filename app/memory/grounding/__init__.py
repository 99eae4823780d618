"""Checks that the claims of a log's lines occur in what they cite (memory-rules.md section 4, the gates)."""
