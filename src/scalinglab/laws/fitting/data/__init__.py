"""The data of a fit: from a table of curves or arrays to checked points."""
