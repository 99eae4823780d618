"""Facts of a session that has ended, and what each does to those that are known of its resource."""
