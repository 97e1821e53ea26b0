"""The four regimes of scaling in a linear model, predicted and simulated.

python examples/kernels.py
"""

import numpy as np

import scalinglab as sl

ALPHA = 0.6  # exponent of the kernel's spectrum: λ_k = k^-(1 + ALPHA)


def main() -> None:
    spectrum = sl.Spectrum.power_law(1 + ALPHA, 1 + ALPHA, n_modes=400)
    theory = sl.theory.random_features.learning_curve
    pool = sl.simulate.random_features.GaussianPool(spectrum)

    print("regime                     size   theory   simulation")
    for regime, n_data, n_params in (
        ("resolution-limited in D", [20, 40, 80], [800]),
        ("resolution-limited in P", [800], [20, 40, 80]),
        ("variance-limited in D", [100, 200, 400], [20]),
        ("variance-limited in P", [20], [100, 200, 400]),
    ):
        curves = sl.simulate.random_features.sweep(pool, n_data, n_params, draws=40)
        along = "n_data" if len(n_data) > 1 else "n_params"
        for size, part in curves.frame.groupby(along):
            losses = part["test_loss"].to_numpy()
            predicted = theory(spectrum, part["n_data"].iloc[0], part["n_params"].iloc[0]).loss
            error = losses.std(ddof=1) / np.sqrt(len(losses))
            print(f"{regime:<24} {size:6d}  {float(predicted):7.4f}  {losses.mean():7.4f} ± {error:.4f}")

    law = sl.theory.kernel.asymptotic_law(1 + ALPHA, 1 + ALPHA)
    endless = sl.Spectrum.power_law(1 + ALPHA, 1 + ALPHA, n_modes=10**15)
    exact = sl.theory.kernel.learning_curve(endless, 1e5).loss
    print(f"\nkernel regression at 1e5 examples: {float(exact):.6f}")
    print(f"its law {law.constant:.3f} n^-{law.exponent:.1f} there:  {float(law.predict(1e5)):.6f}")


if __name__ == "__main__":
    main()
