"""Bordelon, Atanasov, Pehlevan 2024: a dynamical model of neural scaling laws."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "bordelon2024/fig1",
        "loss of real networks against time and width",
        scales=("smoke", "laptop", "gpu", "paper"),
    ),
    Entry(
        "bordelon2024/fig2a",
        "loss dynamics at several model sizes, theory and simulation",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig2b",
        "final loss against model size",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig2c",
        "loss dynamics at several data sizes",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig2d",
        "final loss against data size",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig2e",
        "time bottleneck at large model and data",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig2f",
        "train and test loss come apart with data re-use",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig3",
        "the compute-optimal frontier has slope -(a-1)/(1+b) for two values of b",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig4a",
        "with fixed data, wider models train faster but saturate: test loss",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig4b",
        "with fixed data: train loss",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig4c",
        "the gap of test and train loss grows with time",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig5a",
        "ensembling lowers the initialisation variance, width is better at fixed compute",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig5b",
        "bagging lowers the data variance",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig6",
        "theory predicts linearised networks from their measured spectra",
        scales=("smoke", "laptop", "gpu", "paper"),
    ),
    Entry(
        "bordelon2024/fig7",
        "the white band-limited model: double descent and optimal stopping",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig8",
        "slow timescales of the white band-limited model",
        scales=("smoke", "laptop"),
    ),
    Entry(
        "bordelon2024/fig9",
        "kernel spectra during training of real networks",
        scales=("smoke", "laptop", "gpu", "paper"),
    ),
    Entry(
        "bordelon2024/exponents",
        "measured and predicted exponents of time, data, model and compute",
        scales=("smoke", "laptop"),
    ),
)
