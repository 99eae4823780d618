"""Daybook: observational memory for agents, as a standalone HTTP service."""

VERSION = "0.1.0"
