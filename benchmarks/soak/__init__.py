"""The service under load for a while, with everything around it failing in turn: ``make soak``."""
