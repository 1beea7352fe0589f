#!/usr/bin/env python3
"""What POT (Python Optimal Transport) finds on the small problems of pot_test.cpp.

POT minimises the square loss E(T) = Σ (D_ii' - D'_jj')² T_ij T_i'j' over distance matrices; cpfm, with the kernel
K = -D, minimises L(π) = Σ K_ii' D'_jj' π_ij π_i'j' = 2 R. The masses being fixed, E = Σ D² μμ + Σ D'² νν + 2 L. So

    E + ε_POT Σ T log T  =  constant + 4 (R + ε Σ π log π)   with   ε_POT = 4 ε:

the two have the same minima. POT 0.8 agrees with it: it hands Sinkhorn the gradient of E (gwggrad has the factor 2),
which is 4 times cpfm's cost C = w |y|² - 2 <p, y>, up to terms of rows or columns alone. It starts from the product
plan, which is A = 0. Prints one line per problem: n m ε/scale, then L and R + ε Σ π log π of POT's plan, and its
marginal error.
"""
import warnings

import numpy as np
import ot

# Where POT's own Sinkhorn (at most 1000 iterations, no logarithms) still converges.
PROBLEMS = [(8, 9, 0.1), (8, 9, 0.02), (8, 9, 0.005), (30, 24, 0.1), (30, 24, 0.05), (30, 24, 0.02), (60, 60, 0.1),
            (60, 60, 0.02), (60, 60, 0.01)]


def clouds(n, m):
    """n points in space and m in the plane; pot_test.cpp has the same formula. In float, as cpfm keeps them."""
    i, j = np.arange(n, dtype=float), np.arange(m, dtype=float)
    x = np.stack([np.sin(1.3 * i + 0.2) + 0.02 * i, np.cos(2.1 * i), np.sin(0.7 * i * i + 0.5)], 1)
    y = np.stack([np.sin(0.9 * j + 1), np.cos(1.7 * j + 0.3) + 0.01 * j], 1)
    return x.astype(np.float32).astype(float), y.astype(np.float32).astype(float)


def squared_distances(x):
    return ((x[:, None, :] - x[None, :, :]) ** 2).sum(2)


def solve(n, m, relative_epsilon):
    x, y = clouds(n, m)
    dx, dy = squared_distances(x), squared_distances(y)
    mu, nu = np.full(n, 1 / n), np.full(m, 1 / m)
    spread = ((y - y.mean(0)) ** 2).sum(1).mean()
    epsilon = relative_epsilon * 2 * (dx @ mu).mean() * spread
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow inner problems on the way; the marginal error of the last is printed
        plan = ot.gromov.entropic_gromov_wasserstein(dx, dy, mu, nu, "square_loss", 4 * epsilon, max_iter=2000,
                                                     tol=1e-11)
    objective = -np.sum((dx @ plan @ dy) * plan)
    entropy = np.sum(plan * np.log(np.maximum(plan, 1e-300)))
    error = abs(plan.sum(0) - nu).sum() + abs(plan.sum(1) - mu).sum()
    return objective, objective / 2 + epsilon * entropy, error


if __name__ == "__main__":
    for n, m, relative_epsilon in PROBLEMS:
        objective, merit, error = solve(n, m, relative_epsilon)
        print(f"{n} {m} {relative_epsilon} {objective:.12f} {merit:.12f} {error:.1e}", flush=True)
