"""Commands that fit, predict and plan."""
