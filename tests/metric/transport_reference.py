#!/usr/bin/env python3
"""What POT (Python Optimal Transport) finds between the clouds of transport_test.cpp.

One line per problem: n, m, ε, the exact squared 2-Wasserstein distance (ot.emd2), and of the entropic plan γ
(ot.sinkhorn, in the log domain) Σ γ |a - b|², Σ γ |a - b|² + ε Σ γ (log γ - 1) and the L1 error of its masses. POT
minimises Σ γ |a - b|² + ε Σ γ log γ, which is the same plan.
"""
import numpy as np
import ot

PROBLEMS = [(5, 5, 0.5), (40, 40, 0.5), (40, 40, 0.05), (40, 25, 0.1), (150, 150, 0.1), (150, 150, 0.02)]


def clouds(n, m):
    """n and m points in the plane; transport_test.cpp has the same formula. In float, as cpfm keeps them."""
    i, j = np.arange(n, dtype=float), np.arange(m, dtype=float)
    a = np.stack([np.sin(1.3 * i + 0.2) + 0.01 * i, np.cos(2.1 * i)], 1)
    b = np.stack([np.sin(0.9 * j + 1), np.cos(1.7 * j + 0.3) + 0.02 * j], 1)
    return a.astype(np.float32).astype(float), b.astype(np.float32).astype(float)


for n, m, epsilon in PROBLEMS:
    a, b = clouds(n, m)
    mu, nu = np.full(n, 1 / n), np.full(m, 1 / m)
    cost = ((a[:, None, :] - b[None, :, :]) ** 2).sum(2)
    exact = ot.emd2(mu, nu, cost)
    plan = ot.sinkhorn(mu, nu, cost, epsilon, method="sinkhorn_log", numItermax=1000000, stopThr=1e-12)
    error = np.abs(plan.sum(1) - mu).sum() + np.abs(plan.sum(0) - nu).sum()
    transport = (plan * cost).sum()
    entropy = (plan * (np.log(np.maximum(plan, 1e-300)) - 1)).sum()
    print(f"{n} {m} {epsilon} {exact:.12f} {transport:.12f} {transport + epsilon * entropy:.12f} {error:.1e}", flush=True)
