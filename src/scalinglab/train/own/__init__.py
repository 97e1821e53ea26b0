"""A user's own network, data, loss, optimizer, schedule and metrics in the place of built-in ones."""
