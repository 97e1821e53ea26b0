"""Exact solutions of the solvable models: perceptron, kernels, random features, mean-field dynamics."""
