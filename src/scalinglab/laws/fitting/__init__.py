"""From points or a table to a fitted law and how sure it is."""
