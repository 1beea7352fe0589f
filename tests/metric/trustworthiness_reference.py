#!/usr/bin/env python3
"""Trustworthiness and continuity on the clouds of neighbourhoods_test.cpp: one line "n k trustworthiness continuity" each.

Without arguments in plain Python, from the definition: every row of distances is sorted. With --sklearn it is
scikit-learn that computes them (continuity is its trustworthiness with the roles exchanged).
"""
import math
import struct
import sys

PROBLEMS = [(7, 3), (40, 1), (40, 5), (40, 19), (150, 12)]


def single(value):
    """Rounded to float, as cpfm keeps it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def clouds(n):
    """n points in space and in the plane; neighbourhoods_test.cpp has the same formula."""
    x = [[single(math.sin(1.3 * i + 0.2) + 0.02 * i), single(math.cos(2.1 * i)), single(math.sin(0.7 * i * i + 0.5))]
         for i in range(n)]
    y = [[single(math.sin(1.3 * i + 0.2)), single(math.cos(1.7 * i + 0.3) + 0.01 * i)] for i in range(n)]
    return x, y


def order(points, i):
    """The other rows, nearest first."""
    return sorted((j for j in range(len(points)) if j != i), key=lambda j: (math.dist(points[i], points[j]) ** 2, j))


def by_definition(x, y, k):
    n, penalty = len(x), 0
    for i in range(n):
        in_x = order(x, i)
        for j in order(y, i)[:k]:
            penalty += max(0, in_x.index(j) + 1 - k)
    return 1 - 2 * penalty / (n * k * (2 * n - 3 * k - 1))


def by_sklearn(x, y, k):
    import numpy
    from sklearn.manifold import trustworthiness
    return trustworthiness(numpy.array(x), numpy.array(y), n_neighbors=k)


if __name__ == "__main__":
    score = by_sklearn if "--sklearn" in sys.argv else by_definition
    for n, k in PROBLEMS:
        x, y = clouds(n)
        print(f"{n} {k} {score(x, y, k):.12f} {score(y, x, k):.12f}", flush=True)
