"""Changes to a memory by request or by age: edits, compaction, erasure, retention, branches."""
