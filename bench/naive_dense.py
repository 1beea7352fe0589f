#!/usr/bin/env python3
"""The paper's Algorithms 1 and 3 as one would write them in NumPy: what cpfm is measured against in bench/coupling.

Dense n × n matrices, float64, BLAS for every product, Sinkhorn in the log domain with potentials kept warm. It follows
the printed text (A = 0, the printed stopping rule, ε halved after every success), with the two corrections without
which it does not work: w carries the mass 1/n, and after a precision failure the last stable ε, plan and A are kept.

As a script it reads X.npy (n × D), labels.npy (n) and Y.npy (m × d), and prints one JSON object.
"""
import argparse
import json
import sys
import time

import numpy as np


class TimeUp(Exception):
    """The time limit was reached."""


def squared_distances(x):
    squares = np.einsum("ij,ij->i", x, x)
    distances = x @ x.T
    distances *= -2
    distances += squares[:, None]
    distances += squares[None, :]
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances


def heat_label_kernel(x, labels, sigma=None):
    """exp(-|x - x'|² / 2σ²) for samples of one class, else 0; σ is the mean distance of two samples. Labels may be
    None."""
    n = len(x)
    kernel = squared_distances(np.asarray(x, dtype=float))
    if sigma is None:
        sigma = np.sqrt(kernel).sum() / (n * (n - 1))
    kernel *= -0.5 / sigma**2
    np.exp(kernel, out=kernel)
    if labels is not None:
        kernel *= labels[:, None] == labels[None, :]
    return kernel, float(sigma)


def pivoted_cholesky(kernel, explained=0.95):
    """Φ (n × m) with ΦΦᵀ ≈ K, of the least rank at which it holds this share of the trace."""
    n = len(kernel)
    residual = kernel.diagonal().copy()
    trace = residual.sum()
    rows = np.empty((min(n, 256), n))  # Φᵀ, grown by doubling
    rank = 0
    while rank < n and residual.sum() > (1 - explained) * trace:
        if rank == len(rows):
            rows = np.concatenate([rows, np.empty((min(n, 2 * rank) - rank, n))])
        pivot = int(np.argmax(residual))
        if residual[pivot] <= 1e-12 * trace / n:
            break
        rows[rank] = (kernel[pivot] - rows[:rank, pivot] @ rows[:rank]) / np.sqrt(residual[pivot])
        residual -= rows[rank] ** 2
        np.maximum(residual, 0, out=residual)
        rank += 1
    return rows[:rank].T, float(1 - residual.sum() / trace)


class Sinkhorn:
    """Log-domain Sinkhorn on a dense cost, uniform masses. Potentials f and g, in units of cost, stay warm."""

    def __init__(self, n, m, deadline=None):
        self.f, self.g = np.zeros(n), np.zeros(m)
        self.log_mu, self.log_nu = -np.log(n), -np.log(m)
        self.half_iterations = 0
        self.deadline = deadline
        self.work = np.empty((n, m))

    def _soft_min(self, cost, potential, epsilon, axis):
        """-ε log Σ exp((potential - cost) / ε) along `axis`."""
        work = self.work
        np.subtract(potential, cost, out=work)
        work /= epsilon
        top = work.max(axis=axis, keepdims=True)
        work -= top
        np.exp(work, out=work)
        self.half_iterations += 1
        return -epsilon * (np.log(work.sum(axis=axis)) + top.squeeze(axis))

    def solve(self, cost, epsilon, tolerance, limit=1000, check_every=10):
        """Until the L1 error of the columns is at most `tolerance`. Returns that error; rows are exact."""
        error = np.inf
        for k in range(1, limit + 1):
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise TimeUp
            self.g = epsilon * self.log_nu + self._soft_min(cost, self.f[:, None], epsilon, 0)
            self.f = epsilon * self.log_mu + self._soft_min(cost, self.g[None, :], epsilon, 1)
            if k % check_every == 0 or k == 1:
                error = np.abs(self.plan(cost, epsilon).sum(0) - np.exp(self.log_nu)).sum()
                if not np.isfinite(error) or error <= tolerance:
                    break
        return float(error)

    def plan(self, cost, epsilon):
        """π, in the buffer that the next iteration overwrites."""
        work = self.work
        np.subtract(self.f[:, None], cost, out=work)
        work += self.g[None, :]
        work /= epsilon
        return np.exp(work, out=work)


def alternate(sinkhorn, phi, w, y, a, epsilon, tolerance, marginal):
    """Algorithm 1. Returns (cost, A, updates, error); None where Sinkhorn cannot meet its marginals. The plan is that
    of the cost and the potentials Sinkhorn holds."""
    square = np.einsum("ij,ij->i", y, y)
    last, updates = np.inf, 0
    while True:
        cost = np.outer(w, square) - 2 * (phi @ a) @ y.T
        error = sinkhorn.solve(cost, epsilon, marginal)
        if not error <= marginal:
            return None
        plan = sinkhorn.plan(cost, epsilon)
        a = phi.T @ (plan @ y)
        value = np.sum(a * a) + np.vdot(cost, plan)
        updates += 1
        if last - value < tolerance * abs(value):
            return cost, a, updates, error
        last = value


def couple(phi, y, epsilon, epsilon_start, tolerance=1e-4, marginal=1e-3, final_marginal=1e-4, resolution=0.05,
           time_limit=None):
    """Algorithm 3 down to `epsilon`, and the columns polished at the end. Returns a dict with the plan."""
    n, m = len(phi), len(y)
    w = phi @ phi.sum(0) / n
    sinkhorn = Sinkhorn(n, m, None if time_limit is None else time.monotonic() + time_limit)
    a, updates = np.zeros((phi.shape[1], y.shape[1])), 0
    current, stable, failed, status = max(epsilon, epsilon_start), None, None, "converged"
    try:
        while True:
            result = alternate(sinkhorn, phi, w, y, a, current, tolerance, marginal)
            if result is not None:
                cost, a, more, error = result
                updates += more
                stable = (current, cost, sinkhorn.f.copy(), sinkhorn.g.copy(), error)
                if current <= epsilon * (1 + 1e-12):
                    break
                current = max(epsilon, current / 2 if failed is None else (current + failed) / 2)
            else:
                if stable is None:
                    raise RuntimeError(f"Sinkhorn does not converge at the first ε, {current}")
                failed, current = current, (current + stable[0]) / 2  # a is still that of the stable ε
                sinkhorn.f, sinkhorn.g = stable[2].copy(), stable[3].copy()
            if failed is not None and stable[0] - current < resolution * stable[0]:
                status = "epsilon_floor"
                break
        reached, cost, sinkhorn.f, sinkhorn.g, error = stable
        if error > final_marginal:
            error = sinkhorn.solve(cost, reached, final_marginal, limit=20000)
    except TimeUp:
        status = "time_limit"
        if stable is None:
            raise
        reached, cost, sinkhorn.f, sinkhorn.g, error = stable
    return {"plan": sinkhorn.plan(cost, reached), "epsilon": reached, "status": status, "marginal_error": error,
            "half_iterations": sinkhorn.half_iterations, "outer_iterations": updates}


def objective(kernel, plan, y):
    """L(π) = Σ π_ij π_i'j' K_ii' |y_j - y_j'|² = 2 (Σ π w |y|² - tr(Mᵀ K M)), with the exact kernel."""
    y = y - y.mean(0)  # L does not change, and less cancels
    mean = plan @ y
    w = kernel.mean(1)
    return float(2 * (w @ plan @ np.einsum("ij,ij->i", y, y) - np.vdot(mean, kernel @ mean)))


def peak_rss_mb():
    """Of this program alone: what getrusage tells includes the program that started it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith("VmHWM"))


def main():
    parser = argparse.ArgumentParser(description="Couple X with Y by the paper's algorithms, dense.")
    parser.add_argument("x", help="X.npy, n × D")
    parser.add_argument("labels", help="labels.npy, n; - for none")
    parser.add_argument("y", help="Y.npy, m × d")
    parser.add_argument("--epsilon", type=float, required=True, help="final ε, absolute")
    parser.add_argument("--epsilon-start", type=float, required=True, help="first ε, absolute")
    parser.add_argument("--sigma", type=float, help="of the heat kernel (default: the mean distance)")
    parser.add_argument("--explained", type=float, default=0.95)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--marginal", type=float, default=1e-3, help="L1 error at which A is updated")
    parser.add_argument("--final-marginal", type=float, default=1e-4, help="L1 error at the end")
    parser.add_argument("--time-limit", type=float, help="seconds for the solve; what was stable by then is reported")
    options = parser.parse_args()
    seconds = {}

    def lap(name, start=[time.perf_counter()]):
        now = time.perf_counter()
        seconds[name], start[0] = now - start[0], now

    x, y = np.load(options.x).astype(float), np.load(options.y).astype(float)
    labels = None if options.labels == "-" else np.load(options.labels)
    lap("read")
    kernel, sigma = heat_label_kernel(x, labels, options.sigma)
    lap("kernel")
    phi, explained = pivoted_cholesky(kernel, options.explained)
    lap("factor")
    print(f"naive: n = {len(x)}, rank {phi.shape[1]}", file=sys.stderr, flush=True)
    try:
        result = couple(phi, y, options.epsilon, options.epsilon_start, options.tolerance, options.marginal,
                        options.final_marginal, time_limit=options.time_limit)
    except (TimeUp, RuntimeError) as error:
        sys.exit(f"naive: {error or 'the time limit passed before the first level of ε ended'}")
    lap("solve")
    plan = result.pop("plan")
    result.update(n=len(x), m=len(y), sigma=sigma, rank=phi.shape[1], explained=explained,
                  objective=objective(kernel, plan, y),
                  objective_random=float(2 * kernel.mean() * ((y - y.mean(0)) ** 2).sum(1).mean()),
                  seconds=seconds, peak_rss_mb=peak_rss_mb())
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
