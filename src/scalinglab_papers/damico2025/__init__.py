"""D'Amico, Bocchi, Negri 2025: implicit bias produces neural scaling laws in learning curves."""

from scalinglab.studies.registry import UP_TO_GPU, UP_TO_PAPER, Entry, listed

ENTRIES = listed(
    __name__,
    Entry("fig1", "a free-norm perceptron follows the fixed-norm theory past the classical learning rules",
          make="perceptron:fig1", scales=UP_TO_GPU, laptop_minutes=7.3),
    Entry("fig2a", "fixed-norm error against sharpness at several loads, with scaling laws on both sides of "
          "the optimum", make="perceptron:fig2a", scales=UP_TO_GPU, laptop_minutes=24),
    Entry("fig2b", "the fixed-norm curves collapse when rescaled by their optima",
          make="scaling:fig2b", laptop_minutes=0.088),
    Entry("fig3", "early learning curves of deep networks fall on one power law of the spectral complexity",
          make="curves:fig3", scales=UP_TO_PAPER, gpu_hours=176, laptop_minutes=8.2),
    Entry("fig4", "whole learning curves collapse at large data size with the proper scalings",
          make="curves:fig4", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("fig5", "two power laws combine to the known error-against-data law with two thresholds",
          make="scaling:fig5", laptop_minutes=0.02),
    Entry("fig6-left", "margin distribution of the storage problem, by theory",
          make="perceptron:fig6_left", scales=UP_TO_GPU, laptop_minutes=1.3),
    Entry("fig6-right", "margin distribution of a CNN on MNIST, normalised by spectral complexity",
          make="margins:fig6_right", scales=UP_TO_PAPER, gpu_hours=1.6),
    Entry("fig7", "the norm grows with time in a non-trivial way",
          make="curves:fig7", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("fig8", "the collapse gives the exponents gamma_1 and gamma_2",
          make="curves:fig8", scales=UP_TO_PAPER, judged_in="damico2025/table2", gpu_hours=176),
    Entry("fig9", "predicted power laws match the measured ones",
          make="curves:fig9", scales=UP_TO_PAPER, judged_in="damico2025/table1", gpu_hours=176),
    Entry("table1", "predicted and measured exponents of error against data, nine model and data pairs",
          make="tables:table1", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("table2", "fitted exponents gamma_1 and gamma_2",
          make="tables:table2", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("table2-authors-windows", "exponents of the curves of May 2025 in the authors' own windows",
          make="tables:authors_windows", scales=("laptop",), laptop_minutes=0.02),
    Entry("talk-relative-error", "perceptron error relative to its zero-sharpness value",
          make="scaling:relative_error", laptop_minutes=0.082),
    Entry("talk-table1", "the newer table of predicted and measured exponents",
          make="tables:talk_table1", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("talk-hestness", "Hestness et al. 2017: power laws in data; tasks change the exponent, "
          "architectures the constant",
          make="talk.review:hestness", scales=("laptop",), laptop_minutes=0.085),
    Entry("talk-rosenfeld", "Rosenfeld et al. 2020: a sum of powers of data and parameters predicts large "
          "models from small ones", make="talk.review:rosenfeld", scales=("laptop",), laptop_minutes=0.067),
    Entry("talk-kaplan", "Kaplan et al. 2020: loss depends on scale more than on shape; large models are "
          "sample-efficient", make="talk.review:kaplan", scales=("laptop",), laptop_minutes=0.66),
    Entry("talk-hoffmann", "Hoffmann et al. 2022: data and parameters both grow as the root of compute",
          make="talk.review:hoffmann", scales=("laptop",), judged_in="hoffmann2022/refit",
          laptop_minutes=0.28),
    Entry("talk-bottlenecks", "Bordelon et al. 2024 as the talk prints it: data and model exponents "
          "saturate at 2b", make="talk.review:bottlenecks", laptop_minutes=0.02),
    Entry("talk-weight-decay", "the laws survive weight decay",
          make="talk.robustness:variants", arguments=("weight decay", "L2"),
          scales=("smoke", "gpu", "paper"), gpu_hours=122),
    Entry("talk-sgd", "the laws survive plain SGD",
          make="talk.robustness:variants", arguments=("SGD",),
          scales=("smoke", "gpu", "paper"), gpu_hours=119),
    Entry("talk-norms", "the laws under other norms",
          make="talk.robustness:norms", scales=UP_TO_PAPER, gpu_hours=60),
    Entry("optimum-in-time", "the optimal norm and its exponent depend on how long networks are trained",
          make="beyond:optimal_norm_in_time", scales=UP_TO_PAPER, gpu_hours=176),
    Entry("precision", "exponents of runs in bf16 are those of runs in tf32",
          make="talk.robustness:precision", scales=("gpu", "paper"), gpu_hours=6.2),
    Entry("published-settings", "norms after one epoch and curves at the settings behind the published ones: "
          "learning rates, batch sizes, initial scales",
          make="against_published:published_settings", scales=("gpu",)),
    Entry("stop-by-norm", "beyond the paper: the optimal norm of small sizes says where a larger one should "
          "stop", make="beyond:stop_by_norm", scales=UP_TO_PAPER, gpu_hours=176),
)  # fmt: skip
