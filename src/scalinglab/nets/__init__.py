"""Network families, each with a width and a parameterization."""
