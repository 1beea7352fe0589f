"""What the benchmarks share: a Python that has what they need, programs run and timed, facts about the machine.

Only the standard library is imported here.
"""
import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

SYSTEM_PYTHON = "/usr/bin/python3"


class BenchError(Exception):
    """A part of the benchmark cannot be done; says why."""


def need(*modules):
    """Starts the program again with the system's Python where this one lacks a module; leaves with 77 where both do."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.path.exists(SYSTEM_PYTHON) and os.environ.get("CPFM_BENCH_PYTHON") is None:
        os.execve(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv, {**os.environ, "CPFM_BENCH_PYTHON": SYSTEM_PYTHON})
    print(f"{os.path.basename(sys.argv[0])}: no module {', '.join(missing)} (Debian: python3-numpy, python3-pot)",
          file=sys.stderr)
    sys.exit(77)


def say(text):
    print(f"[{datetime.datetime.now():%H:%M:%S}] {text}", file=sys.stderr, flush=True)


def run(words, threads):
    """Runs a program that prints one JSON object; returns it with the seconds the whole process took as "wall"."""
    words = [str(word) for word in words]
    # A program's peak memory, as getrusage tells it, begins with that of the process it was forked from: a shell is
    # small.
    small_parent = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]
    count = str(threads)
    environment = {**os.environ, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count,
                   "BLIS_NUM_THREADS": count}
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        try:
            done = subprocess.run(small_parent + words, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  env=environment)
        except OSError as error:
            raise BenchError(f"{words[0]}: {error.strerror}") from None
        wall = time.perf_counter() - begin
        out.seek(0)
        text = out.read().decode(errors="replace")
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip()[-500:]
        raise BenchError(f"{' '.join(words)}: exit {done.returncode}: {message}")
    try:
        return {**json.loads(text), "wall": wall}
    except ValueError:
        raise BenchError(f"{' '.join(words)}: printed no JSON") from None


def median_of(results, key):
    return statistics.median(result[key] for result in results)


def machine_facts():
    facts = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "cpu": "unknown",
             "cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                facts["cpu"] = line.split(":", 1)[1].strip()
                break
    for name in ("numpy", "scipy", "ot"):
        version = subprocess.run([sys.executable, "-c", f"import {name}; print({name}.__version__)"],
                                 capture_output=True, text=True)
        facts[name] = version.stdout.strip() if version.returncode == 0 else None
    return facts
