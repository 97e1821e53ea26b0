"""Solvable models beyond the source papers: what is claimed of them, beside the solvers of `theory`."""

from scalinglab.studies import Entry, listed

ENTRIES = listed(
    __name__,
    Entry("phases", "one-pass SGD on random features has seven phases in (α, β), each with its own exponents "
          "of loss and size in compute (Paquette and others 2024)", make="phases:phases", laptop_minutes=1.4),
    Entry("phase-boundaries", "the phases meet at 2α = 1, 2β = 1 and α = β (Paquette and others 2024)",
          make="phases:boundaries", laptop_minutes=0.1),
    Entry("feature-learning", "networks that learn features keep the lazy exponent β on easy tasks and have "
          "2β/(1+β) on hard ones, β < 1 (Bordelon, Atanasov, Pehlevan 2024)",
          make="feature_learning:exponents", laptop_minutes=1.2),
    Entry("momentum", "momentum whose memory grows with time learns t^(2−1/b) modes' worth of SGD's t; "
          "constant momentum keeps its exponent (Ferbach and others 2025)", make="momentum:momentum",
          laptop_minutes=0.7),
    Entry("schedules", "the best schedule of an easy task decays all along, that of a hard one stays high "
          "and anneals in a falling share of the steps; that of real runs is what laws fitted to them say",
          make="schedules:schedules", laptop_minutes=1.2),
    Entry("multi-pass", "SGD that sees its data many times, with any schedule, momentum and weight decay, "
          "has the train and test loss that mean-field theory gives", make="multi_pass:multi_pass",
          laptop_minutes=0.5),
    Entry("perceptrons", "replica equations give error and norm of perceptrons under square, logistic, "
          "exponential and hinge loss, for any covariance of the inputs and noisy labels",
          make="perceptrons:perceptrons", laptop_minutes=6.3),
    Entry("nonlinear-features", "random features with a nonlinearity, shallow and deep, have the loss of "
          "linear ones of a longer spectrum", make="nonlinear_features:nonlinear_features",
          laptop_minutes=0.5),
    Entry("superposition", "in strong superposition the loss falls as one over the dimension for any "
          "frequencies of features; in weak superposition it follows the frequencies (Liu, Liu, Gore 2025)",
          make="sparse_features:superposition", laptop_minutes=0.5),
    Entry("quanta", "tasks of frequency i^-(1+a), each learnt or not, give D^-a/(1+a) in data and m^-a in "
          "capacity (Michaud and others 2023)", make="sparse_features:quanta",
          laptop_minutes=0.11),
)  # fmt: skip
