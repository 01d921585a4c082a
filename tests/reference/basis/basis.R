# R's poly, splineDesign and cut on 30 numbers with ties: writes basis.json. Run as: Rscript basis.R > basis.json
library(splines)
x <- c(1003.2, 1001.7, 1004.9, 1002.2, 1009.1, 1000.4, 1007.7, 1003.2, 1005.5, 1006.1, 1002.8, 1008.3, 1001.1, 1004.2,
       1007.0, 1000.9, 1003.9, 1006.6, 1005.0, 1002.5, 1009.6, 1001.7, 1008.8, 1004.4, 1006.9, 1005.9, 1003.5, 1007.4,
       1000.1, 1002.2)
new <- c(1000.1, 1002.2, 1003.33, 1005.25, 1004.875, 1007.6, 1009.6)
beyond <- c(990.5, 1015.25)
times <- rep(1:3, 10)
num <- function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]")
mat <- function(m) paste0("[", paste(apply(m, 1, num), collapse = ",\n  "), "]")
p <- poly(x, 5)
pw <- poly(rep(x, times), 3)
knots <- c(1002.5, 1005.25, 1007.5)
full <- function(degree) c(rep(min(x), degree + 1), knots, rep(max(x), degree + 1))
slopes <- function(degree, at, deriv = 1) splineDesign(full(degree), at, ord = degree + 1, derivs = rep(deriv, length(at)))[, -1]
extended <- function(degree) unclass(suppressWarnings(predict(bs(x, knots = knots, degree = degree), c(beyond, new))))
q <- quantile(x, (0:4) / 4)
parts <- list(
  source = sprintf('"%s, base poly, splines %s splineDesign, cut; script basis.R"', R.version.string, packageVersion("splines")),
  x = num(x), new = num(new), beyond = num(beyond), times = num(times), knots = num(knots),
  poly5 = mat(unclass(p)[, 1:5]), poly5_new = mat(unclass(predict(p, c(new, beyond)))[, 1:5]),
  poly3_times = mat(unclass(pw)[, 1:3]), poly3_times_new = mat(unclass(predict(pw, new))[, 1:3]),
  bs3_slope = mat(slopes(3, new)), bs2_slope = mat(slopes(2, new)), bs1_slope = mat(slopes(1, new)),
  bs3 = mat(slopes(3, new, 0)),
  bs3_beyond = mat(extended(3)), bs2_beyond = mat(extended(2)), bs1_beyond = mat(extended(1)),
  quartiles = num(q), quartile = num(as.integer(cut(x, q, include.lowest = TRUE))),
  cut = num(as.integer(cut(x, c(1000, 1003.2, 1006.1, 1010)))),
  cut_left = num(as.integer(cut(x, c(1000, 1003.2, 1006.1, 1010), right = FALSE))))
cat("{\n", paste(sprintf(' "%s": %s', names(parts), unlist(parts)), collapse = ",\n"), "\n}\n", sep = "")
