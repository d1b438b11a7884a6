# Makes hosts.json: a difference on several hosts, by R's linear models. Run: Rscript hosts.R > hosts.json
library(jsonlite)
library(emmeans)
options(digits = 17)

made <- function(seed, hosts, blocks, gone = 0) {
  set.seed(seed)
  alternatives <- c("serial", "g1", "z")
  rows <- expand.grid(alternative = alternatives, block = seq_len(max(blocks)), host = seq_len(hosts))
  rows <- rows[rows$block <= blocks[rows$host], ]
  level <- c(serial = 0, g1 = -0.05, z = 0.08)
  drift <- rnorm(max(blocks) * hosts, 0, 0.05)
  rows$y <- level[as.character(rows$alternative)] + 0.3 * rows$host +
    drift[(rows$host - 1) * max(blocks) + rows$block] +
    ifelse(rows$alternative == "z", 0.02 * rows$host, 0) + rnorm(nrow(rows), 0, 0.02)
  if (gone > 0) rows <- rows[-sample(nrow(rows), gone), ]
  rows$host <- factor(rows$host)
  rows$cluster <- interaction(rows$host, rows$block, drop = TRUE)
  rows$alternative <- factor(rows$alternative, levels = alternatives)
  rows
}

answer <- function(rows) {
  additive <- lm(y ~ cluster + alternative, rows)
  full <- lm(y ~ cluster + alternative + host:alternative, rows)
  test <- anova(additive, full)
  list(
    rows = lapply(seq_len(nrow(rows)), function(i) {
      with(rows[i, ], list(as.integer(host), block, as.integer(alternative), y))
    }),
    f = test$F[2], df = test$Df[2], df_error = test$Res.Df[2], p = test$`Pr(>F)`[2]
  )
}

# g1 against serial alone, pooled over the hosts, each host counting the same
pooled <- function(rows) {
  pair <- rows[rows$alternative != "z", ]
  wide <- merge(pair[pair$alternative == "g1", c("host", "block", "y")],
                pair[pair$alternative == "serial", c("host", "block", "y")], by = c("host", "block"))
  wide$d <- wide$y.x - wide$y.y
  model <- lm(d ~ host, wide)
  mean <- summary(emmeans(model, ~1), infer = TRUE)
  f <- anova(model)
  means <- tapply(wide$d, wide$host, base::mean)
  random <- t.test(means)
  list(point = mean$emmean, low = mean$lower.CL, high = mean$upper.CL, df = mean$df, p = mean$p.value,
       f = f$F[1], f_df = f$Df[1], f_p = f$`Pr(>F)`[1],
       random_low = random$conf.int[1], random_high = random$conf.int[2], random_p = random$p.value)
}

balanced <- made(1, 3, c(10, 10, 10))
uneven <- made(2, 3, c(8, 5, 11))
holes <- made(3, 4, c(9, 9, 6, 9), gone = 11)
both <- function(rows) c(answer(rows), list(pooled = pooled(rows)))
cat(toJSON(list(balanced = both(balanced), uneven = both(uneven), holes = both(holes)),
           auto_unbox = TRUE, digits = NA))
