"""Stacks of networks that are trained without the engine: thousands of small ones, or very wide ones."""
