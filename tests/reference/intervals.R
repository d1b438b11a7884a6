# Known answers for the intervals of src/regatta/stats: `Rscript tests/reference/intervals.R` writes intervals.json beside itself.
# Needs boot and jsonlite. Data are rounded, so that JSON holds them exactly as R had them.
suppressMessages({library(boot); library(jsonlite)})
set.seed(20070101)

estimate <- function(test) list(
  low = test$conf.int[1], high = test$conf.int[2], p = test$p.value, df = unname(test$parameter))

# t.test: one sample, two samples of unequal spread and size, pairs
a <- round(rnorm(12, 105, 6), 3)
b <- round(rnorm(31, 100, 2), 3)
c30 <- round(rlnorm(30, 1, 0.4), 4)
pair_a <- round(100 + cumsum(rnorm(15, 0.5, 2)) , 3)
pair_b <- round(pair_a * exp(rnorm(15, -0.02, 0.01)), 3)
one <- function(x, level) c(list(level = level, mean = mean(x), sd = sd(x)), estimate(t.test(x, conf.level = level)))

# The paper's way: degrees of freedom to the nearest integer, the normal distribution from 30 values on
georges <- function(x, y, level) {
  vx <- var(x) / length(x); vy <- var(y) / length(y)
  df <- if (length(x) >= 30 && length(y) >= 30) Inf
        else round((vx + vy)^2 / (vx^2 / (length(x) - 1) + vy^2 / (length(y) - 1)))
  d <- mean(x) - mean(y); e <- sqrt(vx + vy); h <- qt(1 - (1 - level) / 2, df) * e
  list(level = level, difference = d, low = d - h, high = d + h, df = if (is.finite(df)) df else "Inf",
       p = 2 * pt(-abs(d / e), df), mean_b = mean(y))
}

# Ranks of the median's interval: the highest k with P(k <= B <= n - k) >= level for B ~ Binomial(n, 1/2)
ranks <- function(n, level) {
  k <- 0
  while (k + 1 <= n / 2 && 1 - 2 * pbinom(k, n, 0.5) >= level) k <- k + 1
  list(n = n, level = level, low = k, high = n + 1 - k, coverage = if (k > 0) 1 - 2 * pbinom(k - 1, n, 0.5) else 0)
}

# BCa with resamples that are given: boot.ci's z0, its interpolation, and Efron's jackknife acceleration
bca <- function(x, statistic, resamples, level) {
  indices <- matrix(sample(length(x), length(x) * resamples, replace = TRUE), resamples)
  t0 <- statistic(x)
  t <- apply(indices, 1, function(i) statistic(x[i]))
  # boot.ci counts resamples strictly below t0; of those that equal it, half are moved there by what no quantile notices
  if (sum(t == t0) %% 2) { gone <- which(t == t0)[1]; t <- t[-gone]; indices <- indices[-gone, ]; resamples <- resamples - 1 }
  ties <- which(t == t0)
  t[ties[seq_len(length(ties) / 2)]] <- t0 - 1e-11
  jack <- sapply(seq_along(x), function(i) statistic(x[-i]))
  b <- list(t0 = t0, t = matrix(t), R = resamples, data = x,
            statistic = function(d, i) statistic(d[i]), sim = "ordinary", call = quote(boot()), stype = "i",
            strata = rep(1, length(x)), weights = rep(1 / length(x), length(x)))
  class(b) <- "boot"
  ci <- boot.ci(b, conf = level, type = "bca", L = mean(jack) - jack)$bca
  list(values = x, level = level, indices = indices - 1, point = t0, low = ci[4], high = ci[5])
}
bca_mean <- round(rlnorm(15, 1, 0.6), 4)
bca_sd <- round(rexp(20, 0.1), 4)

answer <- list(
  made_by = paste("R", getRversion(), "boot", packageVersion("boot")),
  samples = list(a = a, b = b, c30 = c30, pair_a = pair_a, pair_b = pair_b),
  mean = list(a = one(a, 0.95), b = one(b, 0.99), c30 = one(c30, 0.9)),
  mean_z = list(level = 0.95, low = mean(c30) - qnorm(0.975) * sd(c30) / sqrt(30), high = mean(c30) + qnorm(0.975) * sd(c30) / sqrt(30)),
  welch = c(list(level = 0.95, difference = mean(a) - mean(b)), estimate(t.test(a, b))),
  welch_log = c(list(level = 0.95), estimate(t.test(log(a), log(b)))),
  georges = list(a_b = georges(a, b, 0.95), c30_b = georges(c30, b, 0.95)),
  paired = c(list(level = 0.95, difference = mean(pair_a - pair_b)), estimate(t.test(pair_a, pair_b, paired = TRUE))),
  paired_log = c(list(level = 0.95), estimate(t.test(log(pair_a), log(pair_b), paired = TRUE))),
  median = lapply(c(5, 6, 7, 10, 15, 30, 31, 100, 1000), ranks, level = 0.95),
  median_99 = lapply(c(7, 8, 30, 101), ranks, level = 0.99),
  bca = list(mean = bca(bca_mean, mean, 999, 0.95), sd = bca(bca_sd, sd, 499, 0.9), median = bca(bca_sd, median, 399, 0.9)))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
write_json(answer, file.path(here, "intervals.json"), auto_unbox = TRUE, digits = NA, pretty = FALSE)
