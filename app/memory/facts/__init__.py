"""Extracts facts from sessions that have ended, and merges them with those known of the resource."""
