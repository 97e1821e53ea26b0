"""The solver: response and correlation functions, and the contour integrals that give every observable."""
