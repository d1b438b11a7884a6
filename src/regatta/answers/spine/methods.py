"""The methods that can answer an experiment, and the names of statistical methods for people."""

from __future__ import annotations

import difflib

from regatta.host.errors import Problem, SpecError
from regatta.stats.intervals import GEORGES_2007

#: ratios of logarithms, paired by block
REGATTA = "regatta"
#: the second: differences of means as in Georges et al. (OOPSLA 2007), section 3
METHODS = (REGATTA, GEORGES_2007)


def check_method(method: str) -> None:
    """Reject an unknown method.

    Raises:
        SpecError: the message suggests the nearest name.
    """
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, 1, 0.4)
        raise SpecError([Problem("method", f"one of {', '.join(METHODS)}", method, near[0] if near else "")])


#: method as in documents -> its name in tables and figures
_NAMES = {
    "t": "Student's t",
    "z": "normal distribution",
    "log-t": "Student's t on logs",
    "bca": "BCa bootstrap",
    "binomial-ranks": "binomial ranks",
    "clopper-pearson": "Clopper-Pearson",
    "paired-t": "paired t",
    "welch": "Welch's t",
    "paired-log-t": "paired t on logs",
    "welch-log": "Welch's t on logs",
    "stein-paired-log-t": "Stein's two-stage paired t on logs",
    "georges2007": "Georges et al. 2007",
    "anova": "one-way ANOVA",
    "block-anova": "ANOVA by block",
    "block-anova-ls": "ANOVA by incomplete block",
    "tukey": "Tukey's HSD",
    "georges2007-tukey": "Tukey's HSD (Georges et al. 2007)",
    "anova+sidak": "one-way ANOVA on logs, Welch's t with Šidák",
    "block-anova+sidak": "ANOVA by block on logs, paired t with Šidák",
    "block-anova-ls+sidak": "ANOVA by incomplete block on logs, paired t with Šidák",
    "sidak-paired-log-t": "paired t on logs, Šidák",
    "sidak-stein-paired-log-t": "Stein's two-stage paired t on logs, Šidák",
    "ar1-log-t": "t on logs of experiments, autocorrelated",
    "sidak-paired-t": "paired t, Šidák",
    "sidak-welch": "Welch's t, Šidák",
    "sidak-welch-log": "Welch's t on logs, Šidák",
    "georges2007-anova+tukey": "one-way ANOVA, Tukey (Georges et al. 2007)",
    "manova": "one-way MANOVA",
    "block-manova": "MANOVA by round",
    "factorial-anova-balanced": "balanced ANOVA",
    "factorial-anova-type-1": "ANOVA, type I sums of squares",
    "factorial-anova-type-2": "ANOVA, type II sums of squares",
    "factorial-anova-type-3": "ANOVA, type III sums of squares",
    "strata-anova-balanced": "balanced ANOVA in strata",
    "strata-anova-type-1": "ANOVA in strata, type I sums of squares",
    "strata-anova-type-2": "ANOVA in strata, type II sums of squares",
    "strata-anova-type-3": "ANOVA in strata, type III sums of squares",
    "fixed-hosts": "fixed hosts",
    "random-hosts": "random hosts",
    "sidak-fixed-hosts": "fixed hosts, Šidák",
    "lower-bound-overhead": "lower-bound overhead",
    "geometric-mean-these": "geometric mean of these benchmarks",
    "sidak-geometric-mean-these": "geometric mean of these benchmarks, Šidák",
    "geometric-mean-like-these": "geometric mean of benchmarks like these",
}


def method_name(method: str) -> str:
    """Return the name of a statistical method for people: `paired t on logs` for `paired-log-t`.

    A remark after a comma is kept: `Student's t, log scale`. A method without a name keeps its own.
    """
    base, comma, remark = method.partition(", ")
    return f"{_NAMES.get(base, base)}{comma}{remark}"
