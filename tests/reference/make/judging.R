# ROC, calibration and validation of birthwt and iris by R: Rscript tests/reference/make/judging.R from the repository.
# Needs pROC, rms, MASS, jsonlite. Writes birthwt__logit_judging.json, birthwt__probit_judging.json, iris__lda_judging.json.
suppressMessages({library(pROC); library(rms); library(MASS); library(splines); library(jsonlite)})
root <- "tests/reference"
d <- read.csv(file.path(root, "data/birthwt.csv"))
full <- "low ~ age + lwt + race + smoke + ptl + ht + ui + ftv"
small <- "low ~ age + lwt"
tight <- glm.control(epsilon = 1e-15, maxit = 100)
fit <- function(f, link) glm(as.formula(f), binomial(link), d, control = tight)
versions <- paste(R.version.string, paste(sapply(c("pROC", "rms", "MASS"), function(p) paste(p, packageVersion(p))), collapse = ", "))
put <- function(name, model, formula, data, keywords, values) {
  case <- list(data = data, formula = formula, model = model, quantity = "judging", keywords = keywords,
               provenance = list(software = versions, call = "tests/reference/make/judging.R",
                                 data_source = paste("as", data)), digits = 8, values = values)
  writeLines(toJSON(case, auto_unbox = TRUE, digits = NA, pretty = TRUE), file.path(root, paste0(name, ".json")))
}

logit <- fit(full, "logit"); y <- d$low; p <- fitted(logit)
r <- roc(y, p, quiet = TRUE, direction = "<")
r2 <- roc(y, fitted(fit(small, "logit")), quiet = TRUE, direction = "<")
test <- roc.test(r, r2, method = "delong", paired = TRUE)
best <- function(...) { b <- coords(r, "best", ..., ret = c("threshold", "sensitivity", "specificity"), transpose = FALSE); as.numeric(b[nrow(b), ]) }
set.seed(1)
v <- rms::validate(lrm(as.formula(full), d, x = TRUE, y = TRUE), B = 4000)
put("birthwt__logit_judging", "Logit", full, "data/birthwt.csv", setNames(list(), character(0)), list(
  auc = as.numeric(r$auc), partial_fpr_0_0.1 = as.numeric(auc(r, partial.auc = c(1, 0.9))),
  partial_fpr_0_0.1_standardized = as.numeric(auc(r, partial.auc = c(1, 0.9), partial.auc.correct = TRUE)),
  partial_tpr_0.8_1 = as.numeric(auc(r, partial.auc = c(1, 0.8), partial.auc.focus = "se")),
  partial_tpr_0.8_1_standardized = as.numeric(auc(r, partial.auc = c(1, 0.8), partial.auc.focus = "se", partial.auc.correct = TRUE)),
  youden = best(best.method = "youden"), closest = best(best.method = "closest.topleft"),
  cost_3_prevalence_0.2 = best(best.method = "youden", best.weights = c(3, 0.2)),
  smaller = small, smaller_auc = as.numeric(r2$auc), delong_z = as.numeric(test$statistic), delong_p = as.numeric(test$p.value),
  validate_4000 = list(AUC = (1 + v["Dxy", "index.corrected"]) / 2, Brier = v["B", "index.corrected"],
                       R2 = v["R2", "index.corrected"], intercept = v["Intercept", "index.corrected"], slope = v["Slope", "index.corrected"])))

q <- fitted(fit(full, "probit")); lp <- qlogis(q)
large <- glm(y ~ offset(lp), family = binomial, control = tight); both <- glm(y ~ lp, family = binomial, control = tight)
at <- quantile(lp, c(.05, .35, .65, .95))
smooth <- glm(y ~ ns(lp, knots = at[2:3], Boundary.knots = at[c(1, 4)]), family = binomial, control = tight)
e <- abs(fitted(smooth) - q); val <- val.prob(q, y, pl = FALSE)
put("birthwt__probit_judging", "Probit", full, "data/birthwt.csv", setNames(list(), character(0)), list(
  large = as.numeric(coef(large)), large_se = sqrt(vcov(large)[1, 1]), intercept = as.numeric(coef(both)[1]), slope = as.numeric(coef(both)[2]),
  intercept_se = sqrt(vcov(both)[1, 1]), slope_se = sqrt(vcov(both)[2, 2]), ICI = mean(e), E50 = as.numeric(quantile(e, .5)),
  E90 = as.numeric(quantile(e, .9)), Emax = max(e), Brier = as.numeric(val["Brier"]), spiegelhalter_z = as.numeric(val["S:z"]),
  spiegelhalter_p = as.numeric(val["S:p"]), R2 = as.numeric(lrm(y ~ lp)$stats["R2"])))

iris <- read.csv(file.path(root, "data/iris.csv")); names(iris) <- gsub("[._]", "_", names(iris))
label <- names(iris)[5]; f <- paste(label, "~", names(iris)[1], "+", names(iris)[2])
post <- predict(lda(as.formula(f), iris))$posterior
levels <- colnames(post)
pairs <- outer(seq_along(levels), seq_along(levels), Vectorize(function(i, j) if (i == j) NA else {
  k <- iris[[label]] %in% levels[c(i, j)]
  as.numeric(roc(iris[[label]][k] == levels[i], post[k, i], quiet = TRUE, direction = "<")$auc)}))
ovr <- lapply(levels, function(l) { a <- roc(iris[[label]] == l, qlogis(post[, l]), quiet = TRUE, direction = "<"); c(as.numeric(a$auc), sqrt(var(a))) })
put("iris__lda_judging", "LDA", f, "data/iris.csv", list(divisor = "unbiased"), list(
  hand_till = as.numeric(multiclass.roc(iris[[label]], post, quiet = TRUE)$auc), pairs = pairs,
  auc = sapply(ovr, `[`, 1), se = sapply(ovr, `[`, 2)))
