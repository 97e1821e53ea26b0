"""Bordelon, Atanasov, Pehlevan 2024: a dynamical model of neural scaling laws."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "bordelon2024/fig1a",
        "the test loss of a residual CNN trained online is t^-alpha + N^-beta",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.width_scans:fig1a",
    ),
    Entry(
        "bordelon2024/fig1b",
        "the compute-optimal strategy scales model size and training time together",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.width_scans:fig1b",
    ),
    Entry(
        "bordelon2024/fig1c",
        "a transformer on data that do not repeat improves monotonically with its width",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.language:fig1c",
    ),
    Entry(
        "bordelon2024/fig1d",
        "a transformer on few data that repeat: a larger width is not always better",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.language:fig1d",
    ),
    Entry(
        "bordelon2024/fig2a",
        "loss dynamics at several model sizes: a time and a model bottleneck, theory and simulation",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2a",
    ),
    Entry(
        "bordelon2024/fig2b",
        "early in training the loss approaches that of infinite N as 1/N",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2b",
    ),
    Entry(
        "bordelon2024/fig2c",
        "the final loss falls as N^-(a-1)",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2c",
    ),
    Entry(
        "bordelon2024/fig2d",
        "loss dynamics at several data sizes: a time and a data bottleneck, theory and simulation",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2d",
    ),
    Entry(
        "bordelon2024/fig2e",
        "early in training the loss approaches that of infinite P as 1/P",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2e",
    ),
    Entry(
        "bordelon2024/fig2f",
        "the final loss falls as P^-(a-1)",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.bottlenecks:fig2f",
    ),
    Entry(
        "bordelon2024/fig3",
        "the compute-optimal frontier has slope -(a-1)/(1+b) for two values of b",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.frontier:fig3",
    ),
    Entry(
        "bordelon2024/fig4a",
        "with fixed data, wider models train faster but saturate: test loss",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.overfitting:fig4a",
    ),
    Entry(
        "bordelon2024/fig4b",
        "with fixed data: train loss",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.overfitting:fig4b",
    ),
    Entry(
        "bordelon2024/fig4c",
        "the gap of test and train loss grows with time",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.overfitting:fig4c",
    ),
    Entry(
        "bordelon2024/fig5a",
        "ensembling lowers the initialisation variance, width is better at fixed compute",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.ensembles:fig5a",
    ),
    Entry(
        "bordelon2024/fig5b",
        "transfer functions saturate at finite N and P: what ensembles and bags cannot remove",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.ensembles:fig5b",
    ),
    Entry(
        "bordelon2024/fig6a",
        "the NTK's eigenvalues of ResNets of several widths fall as a power of the mode",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig6a",
    ),
    Entry(
        "bordelon2024/fig6b",
        "the task's power beyond mode k falls as a power of k",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig6b",
    ),
    Entry(
        "bordelon2024/fig6c",
        "the compute-optimal exponent of linearised networks follows from both; feature learning beats it",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.width_scans:fig6c",
    ),
    Entry(
        "bordelon2024/fig7",
        "the white band-limited model: double descent and optimal stopping",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.white:fig7",
    ),
    Entry(
        "bordelon2024/fig8",
        "slow timescales of the white band-limited model",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.white:fig8",
    ),
    Entry(
        "bordelon2024/fig9a",
        "the after-kernel's spectrum flattens early in training and keeps its decay later",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig9a",
    ),
    Entry(
        "bordelon2024/fig9b",
        "the after-kernel's top mode explains more of the task throughout training",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig9b",
    ),
    Entry(
        "bordelon2024/fig9c",
        "the test loss falls faster than the after-kernel predicts",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig9c",
    ),
    Entry(
        "bordelon2024/fig9d",
        "the alignment of kernel and target improves throughout training",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.bordelon2024.networks:fig9d",
    ),
    Entry(
        "bordelon2024/exponents",
        "measured and predicted exponents of time, data, model and compute",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.frontier:exponents",
    ),
    Entry(
        "bordelon2024/finite-size",
        "simulations of finite size lie above the mean-field theory by about 1/N",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.bordelon2024.finite_size:finite_size",
    ),
)
