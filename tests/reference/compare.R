# Known answers for `regatta compare`: `Rscript tests/reference/compare.R` writes compare.json beside itself. Needs car and jsonlite.
# Data sets that come with R: PlantGrowth (one factor), warpbreaks (two factors, balanced, and without some rows), sleep (pairs);
# and Box, Hunter and Hunter's penicillin (blocks).
suppressMessages({library(car); library(jsonlite)})
options(contrasts = c("contr.sum", "contr.poly"))

pairs <- function(fit, term) {
  t <- TukeyHSD(fit, term)[[term]]
  # Named b-a by R: turned, so that a is the earlier level
  lapply(seq_len(nrow(t)), function(i) {
    names <- strsplit(rownames(t)[i], "-", fixed = TRUE)[[1]]
    list(a = names[2], b = names[1], difference = -t[i, "diff"], low = -t[i, "upr"], high = -t[i, "lwr"], p = t[i, "p adj"])
  })
}
table_of <- function(a) {
  rows <- setdiff(rownames(a), c("Residuals", "(Intercept)"))
  ss <- a[["Sum Sq"]]; names(ss) <- rownames(a)
  lapply(rows, function(r) list(factor = r, df = a[r, "Df"], ss = ss[[r]], F = a[r, "F value"], p = a[r, "Pr(>F)"],
                                eta2 = ss[[r]] / (ss[[r]] + ss[["Residuals"]])))
}
named <- function(a) { rownames(a) <- trimws(rownames(a)); a }
welch <- function(x, y) { t <- t.test(x, y); l <- t.test(log(x), log(y))
  list(difference = mean(x) - mean(y), low = t$conf.int[1], high = t$conf.int[2], df = unname(t$parameter), p = t$p.value,
       ratio = exp(mean(log(x)) - mean(log(y))), ratio_low = exp(l$conf.int[1]), ratio_high = exp(l$conf.int[2])) }

plant <- aov(weight ~ group, PlantGrowth)
penicillin <- data.frame(yield = c(89, 88, 97, 94, 84, 77, 92, 79, 81, 87, 87, 85, 87, 92, 89, 84, 79, 81, 80, 88),
                         blend = factor(rep(1:5, each = 4)), process = factor(rep(c("A", "B", "C", "D"), 5)))
blocked <- aov(yield ~ blend + process, penicillin)
holes <- warpbreaks[-c(1, 2, 12, 30, 31, 32, 50), ]
model <- function(d) lm(breaks ~ wool * tension, d)
unstacked <- with(sleep, list(a = extra[group == 1], b = extra[group == 2]))
paired <- t.test(unstacked$a, unstacked$b, paired = TRUE)

answer <- list(
  made_by = paste("R", getRversion(), "car", packageVersion("car")),
  plant = list(rows = PlantGrowth, F = summary(plant)[[1]][1, "F value"], p = summary(plant)[[1]][1, "Pr(>F)"], df = summary(plant)[[1]]$Df,
               tukey = pairs(plant, "group"),
               welch = with(PlantGrowth, welch(weight[group == "ctrl"], weight[group == "trt1"]))),
  penicillin = list(rows = penicillin, F = summary(blocked)[[1]][2, "F value"], p = summary(blocked)[[1]][2, "Pr(>F)"],
                    df = summary(blocked)[[1]]$Df[2:3], tukey = pairs(blocked, "process")),
  warpbreaks = list(rows = warpbreaks, type2 = table_of(named(Anova(model(warpbreaks), type = 2))),
                    tukey = pairs(aov(breaks ~ tension * wool, warpbreaks), "tension")),
  holes = list(rows = holes, type1 = table_of(named(anova(model(holes)))), type2 = table_of(named(Anova(model(holes), type = 2))),
               type3 = table_of(named(Anova(model(holes), type = 3)))),
  sleep = list(rows = sleep, difference = unname(paired$estimate), low = paired$conf.int[1], high = paired$conf.int[2], p = paired$p.value))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
write_json(answer, file.path(here, "compare.json"), auto_unbox = TRUE, digits = NA)
