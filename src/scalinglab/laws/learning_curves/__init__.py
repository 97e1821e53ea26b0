"""Learning curves as a function of the norm: shape, collapse, dynamical exponents."""
