"""Norms of a network: its layers, their operators, and what is read off while it trains."""
