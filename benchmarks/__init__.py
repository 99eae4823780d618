"""What Daybook is measured by: programs over the running service, no part of it."""
