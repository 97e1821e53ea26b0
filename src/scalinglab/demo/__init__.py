"""The demonstration of ``scalinglab demo``: predict, train, compare and fit on handwritten digits."""
