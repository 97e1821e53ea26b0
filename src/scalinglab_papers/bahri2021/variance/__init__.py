"""Variance-limited networks: exponent 1 in examples and in width (Fig. 1, section 2.1)."""
