"""Training: one setting gives one run's curves; many replicas at once."""
