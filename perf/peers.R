# R peers of perf/run analysis: Rscript peers.R TASK FOLDER COUNT prints the seconds for COUNT units of the task, without loading data.
arguments <- commandArgs(trailingOnly = TRUE)
task <- arguments[1]
folder <- arguments[2]
count <- as.integer(arguments[3])
numbers <- function(name, what = "double", size = 8) {
  path <- file.path(folder, name)
  readBin(path, what, n = file.size(path) / size, size = size)
}
rows <- function(name) {
  data <- data.frame(y = log(numbers(paste0(name, ".f64"))))
  for (column in c("benchmark", "heap", "block", "collector"))
    data[[column]] <- factor(numbers(paste0(name, "-", column, ".i32"), "integer", 4))
  data
}
clock <- function(work) {
  start <- Sys.time()
  work()
  cat(format(as.numeric(Sys.time() - start, units = "secs"), digits = 15), "\n")
}

if (task == "families") {
  # COUNT families: the t interval of every cell, blocks and collectors by aov, Tukey's intervals
  data <- rows("families")
  families <- split(data, list(data$heap, data$benchmark))[seq_len(count)]
  clock(function() for (family in families) {
    tapply(family$y, family$collector, function(y) t.test(y)$conf.int)
    TukeyHSD(aov(y ~ factor(block) + collector, family), "collector")
  })
} else if (task == "factors") {
  # COUNT heaps
  data <- droplevels(subset(rows("families"), as.integer(heap) <= count))
  clock(function() anova(lm(y ~ benchmark * heap * collector, data)))
} else if (task == "boot") {
  # COUNT cells
  table <- matrix(numbers("boot.f64"), ncol = 30, byrow = TRUE)
  clock(function() for (row in seq_len(count)) {
    draws <- boot::boot(table[row, ], function(x, drawn) mean(x[drawn]), 9999)
    boot::boot.ci(draws, type = "bca")
  })
} else if (task == "iterations") {
  # all iterations, loading included; warm-up is COUNT iterations
  clock(function() {
    value <- numbers("iterations.f64")
    record <- numbers("record.i32", "integer", 4)
    kept <- numbers("iteration.i32", "integer", 4) >= count
    if (requireNamespace("data.table", quietly = TRUE)) {
      data.table::data.table(record = record[kept], value = value[kept])[, mean(value), by = record]
    } else {
      sums <- rowsum(value[kept], record[kept])
      sums / tabulate(record[kept] + 1L)
    }
  })
  status <- readLines("/proc/self/status")
  cat(gsub("[^0-9]", "", grep("VmHWM", status, value = TRUE)), "\n")
} else if (task == "shifts") {
  series <- numbers("series.f64")
  clock(function() for (i in seq_len(count)) changepoint::cpt.meanvar(series, method = "PELT", minseglen = 2))
} else if (task == "qtukey") {
  clock(function() for (i in seq_len(count)) qtukey(0.95, 5, 116))
}
