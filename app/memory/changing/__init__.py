"""What is done to a memory by request or by age: edits, compaction, erasure, retention, branches."""
