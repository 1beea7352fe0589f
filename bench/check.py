#!/usr/bin/env python3
"""Checks of the benchmarks themselves, at small sizes: that POT's problem and cpfm's are the same with ε_POT = 4 ε, and
that the naive implementation minimises what it says; and that one failure does not cost a whole table. Exits with 77
where numpy or POT is missing."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import tools

tools.need("numpy", "ot")

import numpy as np  # noqa: E402
import ot  # noqa: E402

import naive_dense  # noqa: E402
import pot_runs  # noqa: E402


def clouds(n, m):
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, 3)) * [1.5, 1, 0.5] + rng.exponential(size=(n, 1)), rng.standard_normal((m, 2))


def uniform(n):
    return np.full(n, 1 / n)


def random_plan(n, m):
    return ot.sinkhorn(uniform(n), uniform(m), np.random.default_rng(1).random((n, m)), 0.3, stopThr=1e-15)


def quadruple_sum(first, second, plan):
    """Σ f(first_ii', second_jj') π_ij π_i'j' without any algebra."""
    return lambda f: np.einsum("abcd,ac,bd->", f(first[:, :, None, None], second[None, None]), plan, plan)


class PotRelation(unittest.TestCase):
    def test_square_loss_is_a_constant_plus_twice_the_objective(self):
        x, y = clouds(12, 9)
        dx, dy = pot_runs.squared_distances(x), pot_runs.squared_distances(y)
        plan = random_plan(12, 9)
        total = quadruple_sum(dx, dy, plan)
        by_definition = total(lambda a, b: -a * b)
        self.assertAlmostEqual(pot_runs.objective(dx, dy, plan) / by_definition, 1, places=10)
        loss = total(lambda a, b: (a - b) ** 2)
        self.assertAlmostEqual((pot_runs.loss_constant(dx, dy) + 2 * by_definition) / loss, 1, places=6)

    def test_the_gradients_differ_by_the_factor_four(self):
        """Up to terms of rows or columns alone, which double centring removes."""
        x, y = clouds(14, 11)
        y -= y.mean(0)
        dx, dy = pot_runs.squared_distances(x), pot_runs.squared_distances(y)
        plan = random_plan(14, 11)
        w, p = -dx.mean(1), -dx @ plan @ y
        ours = np.outer(w, (y**2).sum(1)) - 2 * p @ y.T
        constant, hx, hy = ot.gromov.init_matrix(dx, dy, uniform(14), uniform(11), "square_loss")
        theirs = ot.gromov.gwggrad(constant, hx, hy, plan)

        def centred(matrix):
            return matrix - matrix.mean(0) - matrix.mean(1)[:, None] + matrix.mean()

        np.testing.assert_allclose(centred(theirs), pot_runs.POT_EPSILON * centred(ours), rtol=1e-6, atol=1e-6)

    def test_the_same_start_and_epsilon_end_in_the_same_plan(self):
        n, m = 40, 50
        x, y = clouds(n, m)
        y -= y.mean(0)
        dx, dy = pot_runs.squared_distances(x), pot_runs.squared_distances(y)
        for share in (0.2, 0.1):  # where POT, which works without logarithms, does not overflow
            epsilon = share * pot_runs.cost_scale(dx, y)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = ot.gromov.entropic_gromov_wasserstein(dx, dy, uniform(n), uniform(m), "square_loss",
                                                               pot_runs.POT_EPSILON * epsilon, max_iter=2000, tol=1e-10)
            sinkhorn, p = naive_dense.Sinkhorn(n, m), np.zeros((n, 2))
            for _ in range(300):  # A = 0, then K M in turn
                cost = np.outer(-dx.mean(1), (y**2).sum(1)) - 2 * p @ y.T
                sinkhorn.solve(cost, epsilon, 1e-10, limit=3000)
                ours = sinkhorn.plan(cost, epsilon).copy()
                before, p = p, -dx @ ours @ y
                if abs(p - before).max() < 1e-10:
                    break
            self.assertLess(abs(ours - theirs).sum(), 1e-6)
            ratio = pot_runs.objective(dx, dy, ours) / pot_runs.objective(dx, dy, theirs)
            self.assertAlmostEqual(ratio, 1, places=6)


class NaiveDense(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.labels = np.arange(60) % 3
        self.x = rng.standard_normal((60, 5)) + 2 * self.labels[:, None]
        self.y = rng.standard_normal((60, 2))
        self.kernel, _ = naive_dense.heat_label_kernel(self.x, self.labels)

    def test_kernel_is_the_paper_s(self):
        distance = np.linalg.norm(self.x[:, None] - self.x[None], axis=2)
        sigma = distance[~np.eye(60, dtype=bool)].mean()
        expected = np.exp(-distance**2 / (2 * sigma**2)) * (self.labels[:, None] == self.labels)
        np.testing.assert_allclose(self.kernel, expected, atol=1e-12)

    def test_factor_explains_what_it_says(self):
        for share in (0.5, 0.95, 1.0):
            phi, explained = naive_dense.pivoted_cholesky(self.kernel, share)
            self.assertGreaterEqual(explained, share - 1e-9)
            self.assertAlmostEqual(np.sum(phi**2) / 60, explained, places=9)
        np.testing.assert_allclose(phi @ phi.T, self.kernel, atol=1e-6)

    def test_objective_is_the_definition(self):
        plan = random_plan(60, 60)
        total = quadruple_sum(self.kernel, pot_runs.squared_distances(self.y), plan)(lambda a, b: a * b)
        self.assertAlmostEqual(naive_dense.objective(self.kernel, plan, self.y), total, places=9)

    def test_couple_meets_its_marginals_at_the_last_epsilon(self):
        phi, _ = naive_dense.pivoted_cholesky(self.kernel)
        random = naive_dense.objective(self.kernel, np.full((60, 60), 1 / 3600), self.y)
        result = naive_dense.couple(phi, self.y, 0.01 * random, 0.08 * random)
        self.assertEqual(result["status"], "converged")
        self.assertEqual(result["epsilon"], 0.01 * random)
        np.testing.assert_allclose(result["plan"].sum(1), uniform(60), atol=1e-12)
        self.assertLessEqual(abs(result["plan"].sum(0) - uniform(60)).sum(), 1.0001e-4)
        self.assertLess(naive_dense.objective(self.kernel, result["plan"], self.y), 0.7 * random)


# Couples all but the first 10,000 samples, and does nothing else.
STAND_IN = """#!/bin/sh
case "$*" in
*--limit*) echo "cpfm: error: there is no room" >&2; exit 1 ;;
*couple*) echo '{"n": 60000, "seed": 1, "seconds": {"kernel": 1, "factor": 2, "solve": 3}, "peak_device_mb": 4,
  "epsilon": 5e-4, "objective": 1, "objective_random": 4, "starts": [1, 2], "dropped_bound": 0, "status": "converged"}' ;;
*) exit 1 ;;
esac
"""


class GpuTables(unittest.TestCase):
    def run_gpu(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "cpfm"
            program.write_text(STAND_IN)
            os.chmod(program, 0o755)
            script = pathlib.Path(__file__).resolve().parent / "gpu"
            return subprocess.run([sys.executable, "-B", script, "--cpfm", program, "--data", "mnist", *words],
                                  capture_output=True, text=True)

    def test_a_row_that_fails_is_named_and_the_others_are_printed(self):
        done = self.run_gpu("--only", "mnist", "--only", "growth", "--growth", "1000", "--seeds", "1,2")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("| 60,000 |"), 4)  # all, more starts, and two seeds further down
        self.assertIn("gpu: mnist: --limit 10000:", done.stderr)
        self.assertIn("there is no room", done.stderr)
        self.assertIn("gpu: growth: 1000 points, --drop 1e-7:", done.stderr)

    def test_nothing_to_do_is_no_failure(self):
        self.assertEqual(self.run_gpu("--only", "growth", "--growth", "").returncode, 0)


if __name__ == "__main__":
    unittest.main()
