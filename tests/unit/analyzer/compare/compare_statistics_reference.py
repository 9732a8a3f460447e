#!/usr/bin/env python3
"""Prints the numbers that compare_statistics_test.cpp holds Stepscope's statistics against: from SciPy, and from R where SciPy has
no such function. Run it where both are installed (apt-get install python3-scipy r-base-core); nothing runs it in the build."""
import subprocess

from scipy import stats

SETS = {
    "small": ([101.2, 99.8, 100.5, 102.1, 98.7, 100.9], [103.4, 105.1, 102.9, 104.2, 101.7, 106.3, 103.8]),
    "ten": ([10.1, 9.7, 10.4, 9.9, 10.6, 10.2, 9.5, 10.8, 10.3, 9.8], [10.05, 9.65, 10.75, 10.45, 9.85, 10.95, 10.25, 9.55, 10.35, 10.15]),
    "ties": ([5, 5, 6, 7, 7, 7, 8, 9], [6, 7, 7, 8, 8, 9, 9, 10, 10]),
    "constant": ([4] * 6, [5] * 6),
    "large": ([((i * 7919) % 1009) / 10 for i in range(60)], [((i * 7907) % 1013) / 10 + 5.55 for i in range(70)]),
}
DIFFERENCES = {
    "twelve": [1.3, -0.4, 2.2, 0.9, 3.1, -1.7, 0.2, 2.9, 1.1, -0.6, 1.9, 0.8],
    "six": [0.5, 1.5, -0.25, 2.0, 0.75, 1.25],
    "tied": [1, -1, 2, 2, 0, 3, -2, 4, 1, 0, 5],
    "sixty": [((i * 7919) % 1009) / 10 - 45.03 + i * 0.01 for i in range(60)],
}
P_VALUES = [0.01, 0.04, 0.03, 0.005, 0.8, 0.04]


def r(code):
    return subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout.strip()


def main():
    for name, (x, y) in SETS.items():
        exact = len(set(x + y)) == len(x) + len(y) and max(len(x), len(y)) < 50
        test = stats.mannwhitneyu(x, y, alternative="two-sided", method="exact" if exact else "asymptotic")
        print(f"{name}: U {test.statistic!r} p {test.pvalue!r} {'exact' if exact else 'normal'}")
        numbers = f"x <- c({','.join(map(repr, x))}); y <- c({','.join(map(repr, y))});"
        if exact:
            print("  HL", r(numbers + "w <- wilcox.test(y, x, conf.int=TRUE); options(digits=17); cat(w$estimate, w$conf.int, w$p.value)"))
        else:
            # R's own interval inverts the test by search; this one is of Hollander and Wolfe (1999), 4.30.
            print("  HL", r(numbers + "d <- sort(outer(y, x, '-')); n <- length(x); m <- length(y); options(digits=17);"
                            "k <- max(1, floor(n*m/2 + qnorm(0.025)*sqrt(n*m*(n+m+1)/12) + 0.5)); cat(median(d), d[k], d[n*m+1-k])"))
        if name != "constant":
            if not exact:
                print("  R ", r(numbers + "w <- suppressWarnings(wilcox.test(y, x, conf.int=TRUE)); options(digits=17); cat(w$estimate, w$conf.int, w$p.value)"))
            print("  t ", r(numbers + "w <- t.test(y, x, var.equal=TRUE); options(digits=17); cat(w$estimate[[1]]-w$estimate[[2]], w$conf.int, w$p.value)"))
    for name, d in DIFFERENCES.items():
        nonzero = [v for v in d if v != 0]
        exact = len(nonzero) == len(d) and len({abs(v) for v in d}) == len(d) and len(d) < 50
        test = stats.wilcoxon(d, correction=True, mode="exact" if exact else "approx")
        print(f"{name}: p {test.pvalue!r} {'exact' if exact else 'normal'}")
        numbers = f"d <- c({','.join(map(repr, d))}); n <- length(d); s <- outer(d, d, '+')/2; m <- sort(s[!lower.tri(s)]); options(digits=17);"
        if exact:
            print("  HL", r(numbers + "w <- wilcox.test(d, conf.int=TRUE); cat(w$statistic, w$estimate, w$conf.int, w$p.value)"))
        else:
            # As above: Tukey's interval by the normal distribution, of Hollander and Wolfe (1999), 3.32.
            print("  HL", r(numbers + "k <- max(1, floor(n*(n+1)/4 + qnorm(0.025)*sqrt(n*(n+1)*(2*n+1)/24) + 0.5)); cat(median(m), m[k], m[length(m)+1-k])"))
            print("  R ", r(numbers + "w <- suppressWarnings(wilcox.test(d, conf.int=TRUE)); cat(w$statistic, w$estimate, w$conf.int, w$p.value)"))
        print("  t ", r(numbers + "w <- t.test(d); cat(w$estimate, w$conf.int, w$p.value)"))
    for n in [6, 12, 49]:
        print("qsignrank, psignrank", n, r(f"options(digits=17); q <- qsignrank(0.025,{n}); cat(q, psignrank(q,{n}))"))
    print("holm", r(f"options(digits=17); cat(p.adjust(c({','.join(map(repr, P_VALUES))}), 'holm'))"))
    for n, m in [(5, 5), (6, 7), (20, 20), (49, 49)]:
        print("qwilcox, pwilcox", n, m, r(f"options(digits=17); q <- qwilcox(0.025,{n},{m}); cat(q, pwilcox(q,{n},{m}))"))
    for p, degrees in [(0.05, 1), (0.05, 2), (0.005, 4), (0.05, 38), (1e-6, 3)]:
        print("t quantile", p, degrees, r(f"options(digits=17); cat(qt({p / 2!r}, {degrees}, lower.tail=FALSE))"))  # SciPy's has 10 digits
    for t, degrees in [(0.5, 1), (2.0, 4), (-3.5, 10), (40.0, 6), (1e-3, 200)]:
        print("t tails", t, degrees, repr(2 * stats.t.sf(abs(t), degrees)))
    for p in [0.025, 0.5, 0.9, 1e-9]:
        print("normal", p, repr(stats.norm.ppf(p)))


if __name__ == "__main__":
    main()
