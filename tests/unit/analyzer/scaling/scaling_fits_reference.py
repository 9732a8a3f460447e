#!/usr/bin/env python3
"""Prints SciPy's numbers, with which scaling_fits_test.cpp compares Stepscope's models of scaling. SciPy solves bounded non-linear
least squares from several starts over the laws as they are usually written; Stepscope solves linear problems. Run it where SciPy
is installed (apt-get install python3-scipy); nothing runs it in the build."""
import itertools

import numpy as np
from scipy import optimize, stats

# (devices, cost of a unit of work): of one run each; with repeats; of a job that contends; of one that gets better first.
SETS = {
    "gentle": [(1, 100.0), (2, 103.1), (4, 105.9), (8, 109.2), (16, 111.8), (32, 115.3)],
    "repeats": [(1, 10.0), (1, 10.2), (2, 10.9), (2, 10.7), (4, 12.1), (4, 12.4), (8, 15.2), (8, 14.9)],
    "contended": [(1, 50.0), (2, 53.0), (4, 60.5), (8, 78.0), (16, 127.0), (32, 260.0)],
    "superlinear": [(1, 20.0), (2, 19.0), (4, 18.8), (8, 19.5), (16, 21.0)],
    "three": [(1, 15.0), (2, 15.9), (4, 18.1)],
}
EXPONENTS = [(0, 1), (1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1), (3, 2), (2, 1), (5, 2), (3, 1)]


def amdahl(n, c, sigma):
    return c * (1 + sigma * (n - 1))


def usl(n, c, sigma, kappa):
    return c * (1 + sigma * (n - 1) + kappa * n * (n - 1))


def pmnf(i, j, l):
    return lambda n, c, a: c * (1 + a * n ** (i / j) * np.log2(n) ** l)


def fit(law, count, points):
    """The best of several starts; relative residuals."""
    n, cost = np.array(points, dtype=float).T
    best = None
    for start in itertools.product([cost.min(), cost.mean()], *[[1e-4, 1e-2, 0.3]] * (count - 1)):
        found = optimize.least_squares(lambda p: law(n, *p) / cost - 1, start, bounds=([0] * count, [np.inf] * count),
                                       x_scale=np.maximum(np.abs(start), 1e-6), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=20000)
        if best is None or found.cost < best.cost:
            best = found
    return best.x, 2 * best.cost


def loo(law, count, points):
    errors = []
    for left_out in sorted({n for n, _ in points}):
        parameters, _ = fit(law, count, [p for p in points if p[0] != left_out])
        errors.append(np.mean([(law(np.float64(left_out), *parameters) / c - 1) ** 2 for n, c in points if n == left_out]))
    return np.sqrt(np.mean(errors))


def interval(law, parameters, sum_of_squares, points, at, gradient_of):
    """Bounds by the delta method over the free parameters (none at a bound) at `at` devices: of a further run."""
    n, cost = np.array(points, dtype=float).T
    free = [k for k in range(len(parameters)) if k == 0 or parameters[k] > 1e-12]
    degrees = len(points) - len(parameters)

    def partial(f, k):
        step = 1e-6 * max(abs(parameters[k]), 1e-6)
        up, down = parameters.copy(), parameters.copy()
        up[k] += step
        down[k] -= step
        return (f(up) - f(down)) / (2 * step)

    jacobian = np.array([partial(lambda p: law(n, *p) / cost, k) for k in free]).T
    share = np.sqrt(sum_of_squares / degrees)
    covariance = np.linalg.inv(jacobian.T @ jacobian) * share**2
    gradient = np.array([partial(lambda p: gradient_of(p, at), k) for k in free])
    return gradient @ covariance @ gradient, share, stats.t.ppf(0.975, degrees)


def main():
    for name, points in SETS.items():
        sizes = len({n for n, _ in points})
        for label, law, count in [("amdahl", amdahl, 2), ("usl", usl, 3)]:
            if sizes < count:
                continue
            parameters, squares = fit(law, count, points)
            line = f"{name} {label}: {', '.join(f'{p:.10g}' for p in parameters)} squares {squares:.10g}"
            if sizes > count:
                line += f" loo {loo(law, count, points):.8g}"
            if len(points) > count:
                variance, share, t = interval(law, parameters, squares, points, 64.0, lambda p, n: np.log(law(n, *p)))
                value = law(64.0, *parameters)
                reach = np.exp(t * np.sqrt(variance + share**2))
                line += f" at 64: {value:.10g} {value / reach:.8g} {value * reach:.8g}"
                variance, _, t = interval(law, parameters, squares, points, 16.0, lambda p, n: 2 * law(n / 2, *p) / law(n, *p))
                gain = 2 * law(8.0, *parameters) / law(16.0, *parameters)
                line += f" gain at 16: {gain:.10g} ±{t * np.sqrt(variance):.8g}"
                if parameters[1] > 1e-12:
                    variance, _, t = interval(law, parameters, squares, points, 1.0, lambda p, n: p[1])
                    line += f" sigma ±{t * np.sqrt(variance):.8g}"
            print(line)
        if sizes < 4:
            continue
        constant = loo(lambda n, c: c + 0 * n, 1, points)
        best = (constant, (0, 1, 0))
        for (i, j), l in itertools.product(EXPONENTS, range(3)):
            if (i, l) == (0, 0):
                continue
            error = loo(pmnf(i, j, l), 2, points)
            if error < best[0] * (1 - 1e-7):
                best = (error, (i, j, l))
        print(f"{name} pmnf: n^({best[1][0]}/{best[1][1]}) log2^{best[1][2]} loo {best[0]:.8g}", end=" ")
        if best[1] != (0, 1, 0):
            parameters, squares = fit(pmnf(*best[1]), 2, points)
            print(f"constant {parameters[0]:.10g} factor {parameters[0] * parameters[1]:.10g} squares {squares:.10g}", end="")
        print()


if __name__ == "__main__":
    main()
