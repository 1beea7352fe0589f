"""Draws the table of `bench/coupling --only growth` as an SVG: time and memory against n, on logarithmic axes.

    python3 bench/plot.py coupling.growth.csv docs/growth.svg
"""
import csv
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 460, 340, 62, 40, 20, 52
BLUE, ORANGE = "#0072b2", "#d55e00"


def ticks(low, high):
    """1, 2 and 5 times powers of ten within [low, high]."""
    found = [m * 10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    return [t for t in found if low <= t <= high]


def panel(x0, title, y_label, series):
    """series: (name, colour, dashed, [(x, y)])."""
    points = [p for *_, line in series for p in line]
    low_x, high_x = min(p[0] for p in points) / 1.2, max(p[0] for p in points) * 1.2
    low_y, high_y = min(p[1] for p in points) / 1.5, max(p[1] for p in points) * 1.5

    def at(x, y):
        u = math.log(x / low_x) / math.log(high_x / low_x)
        v = math.log(y / low_y) / math.log(high_y / low_y)
        return x0 + LEFT + u * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - v * (HEIGHT - TOP - BOTTOM)

    out = [f'<text x="{x0 + LEFT}" y="22" font-weight="bold">{title}</text>']
    for t in ticks(low_x, high_x):
        x, y = at(t, low_y)
        out.append(f'<path d="M{x:.1f} {TOP}V{y:.1f}" stroke="#eee"/>')
        out.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{t / 1000:g}k</text>')
    for t in ticks(low_y, high_y):
        x, y = at(low_x, t)
        out.append(f'<path d="M{x:.1f} {y:.1f}H{x0 + WIDTH - RIGHT}" stroke="#eee"/>')
        out.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{t:g}</text>')
    out.append(f'<text x="{x0 + (LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">samples</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text transform="translate({x0 + 14} {middle}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    for k, (name, colour, dashed, line) in enumerate(series):
        path = "L".join("{:.1f} {:.1f}".format(*at(*p)) for p in line)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        out += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*at(*p), colour) for p in line]
        out.append(f'<text x="{x0 + LEFT + 12}" y="{TOP + 16 + 16 * k}" fill="{colour}">{name}</text>')
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))

    def line(truncation, column):
        return [(float(r["n"]), float(r[column])) for r in rows if (r["truncation"] == "True") == truncation]

    for row in rows:
        row["seconds"] = sum(float(row[f"seconds_{part}"]) for part in ("kernel", "factor", "solve"))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}" font-family="sans-serif" '
           'font-size="12"><rect width="100%" height="100%" fill="white"/>']
    out += panel(0, "Time", "seconds", [("with truncation", BLUE, False, line(True, "seconds")),
                                        ("every pair", ORANGE, True, line(False, "seconds"))])
    out += panel(WIDTH, "Peak memory", "MB", [("with truncation", BLUE, False, line(True, "peak_rss_mb"))])
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(out) + "\n</svg>\n")


if __name__ == "__main__":
    main()
