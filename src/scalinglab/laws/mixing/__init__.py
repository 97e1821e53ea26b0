"""The loss of data mixtures: predicted with intervals, and the mixture to train on next."""
