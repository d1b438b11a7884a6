# Makes hosts.json: values of three alternatives on several hosts, and the difference of two of them on hosts like these.
# Run: Rscript hosts.R > hosts.json. What is said of these hosts themselves is in hosts_welch.json.
library(jsonlite)
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

numbers <- function(rows) {
  lapply(seq_len(nrow(rows)), function(i) with(rows[i, ], list(as.integer(host), block, as.integer(alternative), y)))
}

# g1 against serial alone, hosts a sample: Student's t on their means
random <- function(rows) {
  pair <- rows[rows$alternative != "z", ]
  wide <- merge(pair[pair$alternative == "g1", c("host", "block", "y")],
                pair[pair$alternative == "serial", c("host", "block", "y")], by = c("host", "block"))
  test <- t.test(tapply(wide$y.x - wide$y.y, wide$host, base::mean))
  list(low = test$conf.int[1], high = test$conf.int[2], p = test$p.value)
}

balanced <- made(1, 3, c(10, 10, 10))
uneven <- made(2, 3, c(8, 5, 11))
holes <- made(3, 4, c(9, 9, 6, 9), gone = 11)
both <- function(rows) list(rows = numbers(rows), random = random(rows))
cat(toJSON(list(balanced = both(balanced), uneven = both(uneven), holes = both(holes)),
           auto_unbox = TRUE, digits = NA))
