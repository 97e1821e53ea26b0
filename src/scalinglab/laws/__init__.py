"""Laws: forms, fits, uncertainty, extrapolation, collapse, plans."""
