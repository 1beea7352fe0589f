#!/usr/bin/env python3
"""POT's side of bench/coupling, in processes of its own so that threads and memory are its own: Sinkhorn at a fixed
cost, and whole entropic Gromov–Wasserstein. Also the relation between POT's problem and cpfm's.

POT minimises the square loss E(T) = Σ (D_ii' - D'_jj')² T_ij T_i'j' + ε_POT Σ T log T; cpfm with K = -D minimises
R(π) + ε Σ π log π, R = L/2, L(π) = Σ K_ii' D'_jj' π_ij π_i'j'. With the masses fixed,

    E = Σ D² μμ + Σ D'² νν + 2 L,   so that   ε_POT = 4 ε   makes the two the same problem (up to a constant, times 4).

POT 0.8 hands Sinkhorn 2 · tensor_product = the gradient of E, so its ε is that of E itself, and it starts from the
product plan, which is cpfm's A = 0. check.py verifies all of this.
"""
import argparse
import json
import struct
import time
import warnings

import tools

tools.need("numpy", "ot")

import numpy as np  # noqa: E402
import ot  # noqa: E402

POT_EPSILON = 4.0  # ε_POT / ε


def squared_distances(x):
    squares = np.einsum("ij,ij->i", x, x)
    return np.maximum(squares[:, None] + squares[None, :] - 2 * x @ x.T, 0)


def objective(dx, dy, plan):
    """L(π) for K = -D, by definition."""
    return float(-np.vdot(dx @ plan @ dy, plan))


def loss_constant(dx, dy):
    """E - 2 L for uniform masses."""
    return float((dx**2).mean() + (dy**2).mean())


def cost_scale(dx, y):
    """cpfm's unit of ε: the objective of the independent plan, without its sign."""
    return float(2 * dx.mean() * ((y - y.mean(0)) ** 2).sum(1).mean())


def read_tensors(path):
    """A safetensors file of doubles and floats."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8:8 + length]), memoryview(data)[8 + length:]
    types = {"F64": "<f8", "F32": "<f4"}
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def run_sinkhorn(options):
    problem = read_tensors(options.problem)
    w, p, y = problem["w"], problem["p"], problem["y"].astype(float)
    cost = w[:, None] * np.einsum("ij,ij->i", y, y) - 2 * p @ y.T
    n, m = cost.shape
    mu, nu = np.full(n, 1 / n), np.full(m, 1 / m)
    begin = time.perf_counter()
    plan = ot.bregman.sinkhorn_log(mu, nu, cost, float(problem["epsilon"]), numItermax=options.iterations, stopThr=0,
                                   warn=False)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "pairs_per_second": 2 * options.iterations * n * m / seconds,
            "marginal_error": float(abs(plan.sum(0) - nu).sum())}


def make_clouds(options):
    """Three unequal clusters in space and a Gaussian in the plane; ε and the constant of the loss."""
    rng = np.random.default_rng(options.seed)
    centres = np.array([[0, 0, 0], [3, 0.5, 0], [1, 2.5, 0.7]])
    x = centres[rng.choice(3, options.points, p=[0.5, 0.3, 0.2])] + 0.6 * rng.standard_normal((options.points, 3))
    y = rng.standard_normal((options.points, 2))
    x, y = x.astype(np.float32), y.astype(np.float32)
    np.save(options.x, x)
    np.save(options.y, y)
    dx, dy = squared_distances(x.astype(float)), squared_distances(y.astype(float))
    return {"scale": cost_scale(dx, y.astype(float)), "loss_constant": loss_constant(dx, dy)}


def run_to_the_end(options, dx, dy, mu, nu):
    """POT's own loop with its own stopping rule, update by update, so that L is known after each; what measuring it
    takes is not counted. Says when L was first as near to its end as the comparison asks."""
    constant, hx, hy = ot.gromov.init_matrix(dx, dy, mu, nu, "square_loss")
    plan, seconds, values, status = np.outer(mu, nu), 0.0, [], "update_limit"
    for k in range(options.updates):
        before = plan
        begin = time.perf_counter()
        gradient = ot.gromov.gwggrad(constant, hx, hy, plan)
        plan = ot.sinkhorn(mu, nu, gradient, POT_EPSILON * options.epsilon, method="sinkhorn")
        seconds += time.perf_counter() - begin
        values.append((seconds, objective(dx, dy, plan)))
        if k % 10 == 0 and np.linalg.norm(plan - before) <= options.tolerance:
            status = "converged"
            break
        if seconds > options.time_limit:
            status = "time_limit"
            break
    value = values[-1][1]
    near = next(k for k, (_, v) in enumerate(values) if v <= value + options.slack * abs(value))
    return plan, {"seconds": seconds, "updates": len(values), "status": status, "objective": value,
                  "seconds_to_objective": values[near][0], "updates_to_objective": near + 1}


def run_gw(options):
    x, y = np.load(options.x).astype(float), np.load(options.y).astype(float)
    mu, nu = np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))
    begin = time.perf_counter()
    dx, dy = squared_distances(x), squared_distances(y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if options.to_the_end:
            plan, result = run_to_the_end(options, dx, dy, mu, nu)
        else:
            plan = ot.gromov.entropic_gromov_wasserstein(dx, dy, mu, nu, "square_loss", POT_EPSILON * options.epsilon,
                                                         max_iter=options.updates, tol=0)
            result = {"seconds": time.perf_counter() - begin, "updates": options.updates,
                      "objective": objective(dx, dy, plan)}
    result["loss"] = loss_constant(dx, dy) + 2 * result["objective"]
    result["marginal_error"] = float(abs(plan.sum(0) - nu).sum() + abs(plan.sum(1) - mu).sum())
    result["warnings"] = sorted({str(warning.message).split("\n")[0][:80] for warning in caught})
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    sinkhorn = commands.add_parser("sinkhorn")
    sinkhorn.add_argument("problem", help="a file of: cpfm bench sinkhorn --save")
    sinkhorn.add_argument("--iterations", type=int, required=True)
    sinkhorn.set_defaults(call=run_sinkhorn)
    clouds = commands.add_parser("clouds")
    gw = commands.add_parser("gw")
    for command in (clouds, gw):
        command.add_argument("x")
        command.add_argument("y")
    clouds.add_argument("--points", type=int, required=True)
    clouds.add_argument("--seed", type=int, default=1)
    clouds.set_defaults(call=make_clouds)
    gw.add_argument("--epsilon", type=float, required=True, help="cpfm's, absolute")
    gw.add_argument("--updates", type=int, default=1000)
    gw.add_argument("--tolerance", type=float, default=1e-9)
    gw.add_argument("--slack", type=float, default=1e-3)
    gw.add_argument("--time-limit", type=float, default=600)
    gw.add_argument("--to-the-end", action="store_true", help="until it has converged, instead of a number of updates")
    gw.set_defaults(call=run_gw)
    options = parser.parse_args()
    print(json.dumps(options.call(options)))


if __name__ == "__main__":
    main()
