"""Commands that make, keep and read runs."""
