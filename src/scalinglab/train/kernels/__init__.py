"""Fast forms of layers: the same functions to rounding, on a CPU and on a GPU."""
