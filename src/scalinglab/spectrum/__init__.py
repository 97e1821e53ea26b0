"""Spectrum: kernel eigenvalues and target power, from exponents or measured on a kernel."""

from scalinglab.spectrum.nodes import Nodes, uniform_gauss
from scalinglab.spectrum.samples import TailExponent
from scalinglab.spectrum.spectra import MOST_MODES, CompletedSpectrum, MeasuredSpectrum, PowerLaw, Spectrum

__all__ = [
    "MOST_MODES", "CompletedSpectrum", "MeasuredSpectrum", "Nodes", "PowerLaw", "Spectrum", "TailExponent",
    "uniform_gauss",
]  # fmt: skip
