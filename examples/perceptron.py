"""A perceptron learns from a teacher: exact learning curve, classical rules, and a simulated student."""

import numpy as np

import scalinglab as sl

theory, simulate = sl.theory.perceptron, sl.simulate.perceptron
load = 5.0

# exact: error against the norm of the student
for sharpness in (0.0, 0.1, 1.0, 10.0, 100.0, np.inf):
    found = theory.fixed_norm(load, sharpness)
    print(f"norm {sharpness:6g}: error {found.error:.6f}, local exponent {found.slope:+.4f}")

# the best norm is close to Bayes, not equal
best = theory.optimal_sharpness(load)
print(best.summary())
print(f"above Bayes by a relative {float(best.error / theory.bayes(load).error) - 1:.2e}")

# a finite student, minimised on the sphere and certified by its projected gradient
curves = simulate.fixed_norm(simulate.draw(load, n_params=200, seeds=12), [0.3, 3.0, 30.0]).average("seed")
exact = theory.fixed_norm(load, curves["norm"]).error
for row in zip(curves["norm"], curves["test_error"], curves["test_error_stderr"], exact):
    print("simulated at norm {:g}, N = 200: {:.4f} ± {:.4f}, theory {:.4f}".format(*row))
