#!/usr/bin/env python3
"""A straightforward half-iteration of Sinkhorn in PyTorch on a GPU, dense and in chunks of rows: prints pairs per second as JSON.

F_i = -logsumexp_j(G_j + <a_i, b_j>): one matrix product, one logsumexp, in float, as one would write it first.
"""
import argparse
import json
import time

import torch


def half_iteration(a, b, g, chunk):
    if chunk == 0:
        return -torch.logsumexp(torch.addmm(g[None, :], a, b.T), dim=1)
    return torch.cat([-torch.logsumexp(torch.addmm(g[None, :], part, b.T), dim=1) for part in a.split(chunk)])


def pairs_per_second(n, dim, chunk, seconds):
    torch.manual_seed(0)
    y = torch.randn(n, dim, device="cuda")
    w = 0.5 + torch.rand(n, 1, device="cuda")
    a = torch.cat([-w, 2 * 0.9 * w * torch.randn(n, dim, device="cuda")], 1) / 0.01
    b = torch.cat([(y * y).sum(1, keepdim=True), y], 1)
    f, g = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")
    done, begin = 0, 0.0
    for k in range(1000):
        if k == 2:  # the first ones warm up
            torch.cuda.synchronize()
            begin = time.perf_counter()
        if k % 2 == 0:
            f = half_iteration(a, b, g, chunk)
        else:
            g = half_iteration(b, a, f, chunk)
        if k >= 2:
            done += 1
            torch.cuda.synchronize()
            if time.perf_counter() - begin > seconds and done >= 2:
                break
    return done * n * n / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, required=True)
    parser.add_argument("--dim", type=int, default=2)
    parser.add_argument("--chunk", type=int, default=4096, help="rows at a time (%(default)s)")
    parser.add_argument("--seconds", type=float, default=2)
    o = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "chunk": o.chunk}
    for name, chunk in (("dense", 0), ("chunked", o.chunk)):
        try:
            result[name] = pairs_per_second(o.points, o.dim, chunk, o.seconds)
        except torch.OutOfMemoryError:
            result[name] = None
        torch.cuda.empty_cache()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
