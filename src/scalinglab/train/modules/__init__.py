"""Modules of the user's own as networks of the engine: built, tried, and counted."""
