"""The memory that needs no model (memory-rules.md section 4, Providers)."""
