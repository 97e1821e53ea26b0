"""The version, in one place: the package, stored runs and the distribution read it here."""

__version__ = "0.1.0"
