"""Spectrum: kernel eigenvalues and target power, from exponents or measured on a kernel."""

from scalinglab.spectrum.base import MOST_MODES, Nodes, PowerLaw, Spectrum, TailExponent, uniform_gauss
from scalinglab.spectrum.measured import CompletedSpectrum, MeasuredSpectrum

__all__ = [
    "MOST_MODES", "CompletedSpectrum", "MeasuredSpectrum", "Nodes", "PowerLaw", "Spectrum", "TailExponent",
    "uniform_gauss",
]  # fmt: skip
