"""D'Amico, Bocchi, Negri 2025: implicit bias produces neural scaling laws in learning curves."""

from scalinglab.papers.registry import Entry

ENTRIES = (
    Entry(
        "damico2025/fig1",
        "a free-norm perceptron follows the fixed-norm theory past the classical learning rules",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.damico2025.perceptron:fig1",
    ),
    Entry(
        "damico2025/fig2a",
        "fixed-norm error against sharpness at several loads, with scaling laws on both sides of the optimum",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.damico2025.perceptron:fig2a",
    ),
    Entry(
        "damico2025/fig2b",
        "the fixed-norm curves collapse when rescaled by their optima",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.damico2025.scaling:fig2b",
    ),
    Entry(
        "damico2025/fig3",
        "early learning curves of deep networks fall on one power law of the spectral complexity",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.curves:fig3",
    ),
    Entry(
        "damico2025/fig4",
        "whole learning curves collapse at large data size with the proper scalings",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.curves:fig4",
    ),
    Entry(
        "damico2025/fig5",
        "two power laws combine to the known error-against-data law with two thresholds",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.damico2025.scaling:fig5",
    ),
    Entry(
        "damico2025/fig6-left",
        "margin distribution of the storage problem, by theory",
        scales=("smoke", "laptop", "gpu"),
        make="scalinglab.papers.damico2025.perceptron:fig6_left",
    ),
    Entry(
        "damico2025/fig6-right",
        "margin distribution of a CNN on MNIST, normalised by spectral complexity",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.margins:fig6_right",
    ),
    Entry(
        "damico2025/fig7",
        "the norm grows with time in a non-trivial way",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.curves:fig7",
    ),
    Entry(
        "damico2025/fig8",
        "the collapse gives the exponents gamma_1 and gamma_2",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.curves:fig8",
        judged_in="damico2025/table2",
    ),
    Entry(
        "damico2025/fig9",
        "predicted power laws match the measured ones",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.curves:fig9",
        judged_in="damico2025/talk-table1",
    ),
    Entry(
        "damico2025/table1",
        "predicted and measured exponents of error against data, nine model and data pairs",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.tables:table1",
    ),
    Entry(
        "damico2025/table2",
        "fitted exponents gamma_1 and gamma_2",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.tables:table2",
    ),
    Entry(
        "damico2025/talk-relative-error",
        "perceptron error relative to its zero-sharpness value",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.damico2025.scaling:relative_error",
    ),
    Entry(
        "damico2025/talk-table1",
        "the newer table of predicted and measured exponents",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.tables:talk_table1",
    ),
    Entry(
        "damico2025/talk-hestness",
        "Hestness et al. 2017: power laws in data; tasks change the exponent, architectures the constant",
        scales=("laptop",),
        make="scalinglab.papers.damico2025.review:hestness",
    ),
    Entry(
        "damico2025/talk-rosenfeld",
        "Rosenfeld et al. 2020: a sum of powers of data and parameters predicts large models from small ones",
        scales=("laptop",),
        make="scalinglab.papers.damico2025.review:rosenfeld",
    ),
    Entry(
        "damico2025/talk-kaplan",
        "Kaplan et al. 2020: loss depends on scale more than on shape; large models are sample-efficient",
        scales=("laptop",),
        make="scalinglab.papers.damico2025.review:kaplan",
    ),
    Entry(
        "damico2025/talk-hoffmann",
        "Hoffmann et al. 2022: data and parameters both grow as the root of compute",
        scales=("laptop",),
        make="scalinglab.papers.damico2025.review:hoffmann",
        judged_in="hoffmann2022/refit",
    ),
    Entry(
        "damico2025/talk-bottlenecks",
        "Bordelon et al. 2024 as the talk prints it: data and model exponents saturate at 2b",
        scales=("smoke", "laptop"),
        make="scalinglab.papers.damico2025.review:bottlenecks",
    ),
    Entry(
        "damico2025/talk-weight-decay",
        "the laws survive weight decay",
        scales=("smoke", "gpu", "paper"),
        make="scalinglab.papers.damico2025.robustness:weight_decay",
    ),
    Entry(
        "damico2025/talk-sgd",
        "the laws survive plain SGD",
        scales=("smoke", "gpu", "paper"),
        make="scalinglab.papers.damico2025.robustness:sgd",
    ),
    Entry(
        "damico2025/talk-norms",
        "the laws under other norms",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.robustness:norms",
    ),
    Entry(
        "damico2025/optimum-in-time",
        "the optimal norm and its exponent depend on how long networks are trained",
        scales=("smoke", "laptop", "gpu", "paper"),
        make="scalinglab.papers.damico2025.optimum:in_time",
    ),
    Entry(
        "damico2025/precision",
        "exponents of runs in bf16 are those of runs in tf32",
        scales=("gpu", "paper"),
        make="scalinglab.papers.damico2025.robustness:precision",
    ),
)
