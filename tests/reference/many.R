# Answers of R for tests/unit/stats/test_stats_many.py and test_factorial.py: Rscript tests/reference/many.R writes many.json beside itself.
# Made with R 4.2.2, car 3.1 (Debian 12: r-base-core r-cran-car r-cran-jsonlite).
suppressPackageStartupMessages({library(car); library(jsonlite)})
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
set.seed(20071021)

# --- data -------------------------------------------------------------------------------------------------------------------
one_way <- function(sizes) {
  group <- factor(rep(seq_along(sizes), sizes))
  data.frame(y = round(100 + 2 * as.integer(group) + rnorm(length(group), sd = 3), 4), group = group)
}
crossed <- function(sizes, per_cell, keep = 1) {
  data <- expand.grid(c(list(rep = seq_len(per_cell)), lapply(sizes, seq_len)))
  names(data) <- c("rep", letters[seq_along(sizes)])
  effect <- with(data, 1e3 + 1.5 * a - 0.7 * b + 0.4 * a * b)
  if (length(sizes) > 2) effect <- effect + 0.9 * data$c - 0.3 * data$a * data$c
  data$y <- round(effect + rnorm(nrow(data), sd = 2), 4)
  for (name in letters[seq_along(sizes)]) data[[name]] <- factor(data[[name]])
  if (keep < 1) {
    # every cell keeps its first row
    drop <- data$rep > 1 & runif(nrow(data)) > keep
    data <- data[!drop, ]
  }
  data
}
codes <- function(data) lapply(data[setdiff(names(data), c("y", "rep"))], as.integer)
table_of <- function(t) {
  rows <- trimws(rownames(t))
  ss <- t[["Sum Sq"]]; df <- t[["Df"]]; f <- t[["F value"]]; p <- t[["Pr(>F)"]]
  keep <- rows != "(Intercept)"
  list(source = rows[keep], df = df[keep], ss = ss[keep], f = f[keep], p = p[keep])
}

# --- one-way and Tukey ------------------------------------------------------------------------------------------------------
tukeys <- lapply(list(balanced = c(10, 10, 10, 10, 10), unbalanced = c(4, 9, 6, 3, 12)), function(sizes) {
  data <- one_way(sizes)
  fit <- aov(y ~ group, data)
  pairs <- TukeyHSD(fit)$group
  list(y = data$y, group = as.integer(data$group), anova = table_of(anova(fit)),
       pairs = rownames(pairs), difference = pairs[, "diff"], low = pairs[, "lwr"], high = pairs[, "upr"], p = pairs[, "p adj"])
})

# --- factorial --------------------------------------------------------------------------------------------------------------
factorials <- lapply(list(
  two_balanced = crossed(c(3, 4), 5), two_unbalanced = crossed(c(3, 4), 6, 0.6),
  three_balanced = crossed(c(2, 3, 4), 3), three_unbalanced = crossed(c(3, 2, 4), 4, 0.5)), function(data) {
  formula <- if ("c" %in% names(data)) y ~ a * b * c else y ~ a * b
  additive <- if ("c" %in% names(data)) y ~ (a + b + c)^2 else y ~ a + b
  sums <- function(f) lapply(list(a = "contr.sum", b = "contr.sum", c = "contr.sum")[all.vars(f)[-1]], identity)
  list(y = data$y, codes = codes(data),
       I = table_of(anova(lm(formula, data))), II = table_of(Anova(lm(formula, data), type = 2)),
       III = table_of(Anova(lm(formula, data, contrasts = sums(formula)), type = 3)),
       lower_I = table_of(anova(lm(additive, data))), lower_II = table_of(Anova(lm(additive, data), type = 2)),
       lower_III = table_of(Anova(lm(additive, data, contrasts = sums(additive)), type = 3)))
})
holes <- crossed(c(3, 4), 3)
holes <- holes[!(holes$a == 2 & holes$b == 3) & !(holes$a == 1 & holes$b == 1), ]
factorials$two_holes <- list(y = holes$y, codes = codes(holes), I = table_of(anova(lm(y ~ a * b, holes))))

# --- manova -----------------------------------------------------------------------------------------------------------------
manovas <- lapply(list(balanced = c(8, 8, 8, 8), unbalanced = c(5, 9, 7), two = c(6, 10)), function(sizes) {
  group <- factor(rep(seq_along(sizes), sizes))
  n <- length(group)
  y <- round(cbind(rnorm(n) + 0.5 * as.integer(group), 50 + rnorm(n, sd = 4), rnorm(n, sd = 0.1) - 0.05 * as.integer(group)), 4)
  fit <- manova(y ~ group)
  one <- function(test) as.list(setNames(summary(fit, test = test)$stats[1, -1], c("value", "f", "df1", "df2", "p")))
  list(table = y, group = as.integer(group), wilks = one("Wilks"), pillai = one("Pillai"),
       hotelling_lawley = one("Hotelling-Lawley"), roy = one("Roy"))
})

# --- several p values -------------------------------------------------------------------------------------------------------
p <- c(0.01, 0.02, 0.03, 0.04, 0.05, 0.0001, 0.9, 0.5, 0.02, 0.7)
holed <- replace(p, c(2, 7), NA)
adjusted_p <- list(p = p, holm = p.adjust(p, "holm"), bh = p.adjust(p, "BH"),
                   holed = holed, holed_holm = p.adjust(holed, "holm"), holed_bh = p.adjust(holed, "BH"))

answers <- list(tukey = tukeys, factorial = factorials, manova = manovas, adjusted = adjusted_p)
write(toJSON(answers, digits = NA, auto_unbox = TRUE, na = "null", matrix = "rowmajor", pretty = FALSE), file.path(here, "many.json"))
