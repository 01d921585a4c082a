# Margins, marginal means, contrasts and effective doses by R: numbers of tests/reference/r/margins.json.
# Rscript tests/reference/make/margins.R   (from the root of the repository; glm, MASS, nnet, emmeans, mvtnorm, numDeriv, sandwich)
suppressMessages({library(MASS); library(nnet); library(emmeans); library(numDeriv); library(sandwich); library(splines)
                  library(jsonlite)})
read <- function(name) read.csv(file.path("tests/reference/data", paste0(name, ".csv")))
tight <- glm.control(epsilon = 1e-14, maxit = 100)
out <- list(program = paste(R.version.string, "emmeans", packageVersion("emmeans"), "numDeriv",
                            packageVersion("numDeriv"), "MASS", packageVersion("MASS"), "nnet", packageVersion("nnet"),
                            "sandwich", packageVersion("sandwich")))

# averages by hand: value of f(beta), delta method with a numeric Jacobian
delta <- function(f, b, V) { J <- jacobian(f, b); list(value = f(b), se = sqrt(diag(J %*% V %*% t(J)))) }

# --- a spline and a crossed factor, three links
d <- read("birthwt"); d$race <- factor(d$race)
for (link in c("logit", "probit", "cloglog")) {
  m <- glm(low ~ bs(age, df = 3) + smoke * log(lwt) + race, binomial(link), d, control = tight)
  F <- m$family$linkinv
  at <- function(change) { new <- d; for (n in names(change)) new[[n]] <- change[[n]]
                           model.matrix(delete.response(terms(m)), model.frame(delete.response(terms(m)), new, xlev = m$xlevels)) }
  Xl <- at(list()); lwt <- function(b) mean(m$family$mu.eta(drop(Xl %*% b)) * (b["log(lwt)"] + b["smoke:log(lwt)"] * d$smoke) / d$lwt)
  age <- function(b) { lim <- range(d$age)
    D <- splineDesign(c(rep(lim[1], 4), rep(lim[2], 4)), d$age, derivs = 1)[, -1]
    mean(m$family$mu.eta(drop(Xl %*% b)) * drop(D %*% b[grep("bs\\(", names(b))])) }
  names_b <- names(coef(m)); named <- function(f) function(b) f(setNames(b, names_b))
  race3 <- function(b) mean(F(at(list(race = factor("3", levels(d$race)))) %*% b) - F(at(list(race = factor("1", levels(d$race)))) %*% b))
  smoke <- function(b) mean(F(at(list(smoke = 1)) %*% b) - F(at(list(smoke = 0)) %*% b))
  f <- named(function(b) c(age(b), lwt(b), race3(b), smoke(b)))
  out[[paste0("birthwt_", link)]] <- list(names = c("age", "lwt", "race[3 - 1]", "smoke"), expected = delta(f, coef(m), vcov(m)),
    HC0 = if (link == "logit") delta(f, coef(m), vcovHC(m, type = "HC0")))
}

# --- unconditional variance: delta method and the variance of the rows
m <- glm(low ~ age + lwt + smoke, binomial, d, control = tight); X <- model.matrix(m); n <- nrow(X)
eff <- function(b) { p <- plogis(drop(X %*% b)); p * (1 - p) * b["lwt"] }
h <- eff(coef(m)); J <- jacobian(function(b) mean(eff(setNames(b, names(coef(m))))), coef(m))
out$unconditional <- list(value = mean(h), plain = sqrt(drop(J %*% vcov(m) %*% t(J)) + var(h) / n),
  robust = { u <- (h - mean(h)) / n + drop(estfun(m) %*% vcov(m) %*% t(J)); sqrt(sum(u^2) * n / (n - 1)) })

# --- marginal means
d$smoke <- factor(d$smoke)
m <- glm(low ~ age + lwt + race * smoke, binomial, d, control = tight)
for (w in c("equal", "outer")) {
  e <- summary(emmeans(m, ~ race, weights = w)); r <- summary(emmeans(m, ~ race, weights = w, type = "response"))
  out[[paste0("emmeans_", w)]] <- list(levels = as.character(e$race), emmean = e$emmean, se = e$SE, low = e$asymp.LCL,
    high = e$asymp.UCL, prob = r$prob, prob_se = r$SE, prob_low = r$asymp.LCL, prob_high = r$asymp.UCL)
}
e <- emmeans(m, ~ race, weights = "equal")
for (a in c("none", "bonferroni", "holm", "sidak", "mvt", "tukey")) {
  p <- summary(pairs(e, reverse = TRUE, adjust = a), infer = TRUE)
  out[[paste0("pairs_", a)]] <- list(contrast = as.character(p$contrast), estimate = p$estimate, se = p$SE, p = p$p.value,
                                     low = p$asymp.LCL, high = p$asymp.UCL)
}
# emmeans' quantile of "mvt" keeps three digits; this one six
Cor <- cov2cor(vcov(pairs(e, reverse = TRUE))); set.seed(1)
miss <- function(t) 1 - mvtnorm::pmvnorm(rep(-t, 3), rep(t, 3), corr = Cor, algorithm = mvtnorm::GenzBretz(maxpts = 2e6, abseps = 1e-7))
out$quantile_mvt <- uniroot(function(t) miss(t) - 0.05, c(1.9, 2.6), tol = 1e-7)$root
p <- summary(pairs(e, reverse = TRUE, adjust = "none", type = "response"), infer = TRUE)
out$pairs_or <- list(contrast = as.character(p$contrast), ratio = p$odds.ratio, se = p$SE, low = p$asymp.LCL, high = p$asymp.UCL)

# --- averages of probabilities and their contrasts
tt <- delete.response(terms(m)); Xr <- lapply(levels(d$race), function(l) { new <- d; new$race <- factor(l, levels(d$race))
  model.matrix(tt, model.frame(tt, new, xlev = m$xlevels)) })
avg <- function(b) sapply(Xr, function(X) mean(plogis(drop(X %*% b))))
out$average <- c(list(levels = levels(d$race)), delta(avg, coef(m), vcov(m)))
out$average_difference <- delta(function(b) avg(b)[3] - avg(b)[1], coef(m), vcov(m))
out$average_log_ratio <- delta(function(b) log(avg(b)[3] / avg(b)[1]), coef(m), vcov(m))
out$average_log_odds <- delta(function(b) qlogis(avg(b)[3]) - qlogis(avg(b)[1]), coef(m), vcov(m))

# --- several classes
h <- read("housing"); h$infl <- factor(h$infl); h$type <- factor(h$type); h$cont <- factor(h$cont); h$satis <- factor(h$satis)
m <- multinom(satis ~ infl + type + cont, h, weights = n, trace = FALSE, reltol = 1e-16, abstol = 1e-16, maxit = 2000)
B <- coef(m); tt <- delete.response(terms(m)); w <- h$n / sum(h$n)
P <- function(b, l) { new <- h; new$infl <- factor(l, levels(h$infl)); X <- model.matrix(tt, model.frame(tt, new, xlev = m$xlevels))
  E <- cbind(1, exp(X %*% t(matrix(b, nrow(B), byrow = TRUE)))); colSums(w * E / rowSums(E)) }
f <- function(b) P(b, levels(h$infl)[3]) - P(b, levels(h$infl)[1])
out$housing <- c(list(levels = levels(h$satis), factor = levels(h$infl)), delta(f, as.vector(t(B)), vcov(m)))

# --- effective doses
b <- read("budworm"); m <- glm(cbind(dead, alive) ~ sex + ldose, binomial, b, control = tight)
dp <- dose.p(m, cf = c(1, 3), p = c(0.25, 0.5, 0.9))
out$dose_p <- list(estimate = as.vector(dp), se = as.vector(attr(dp, "SE")))
fieller <- function(p) { a <- qlogis(p) - coef(m)[1]; s <- coef(m)[3]; V <- vcov(m)[c(1, 3), c(1, 3)]; z2 <- qnorm(0.975)^2
  q <- c(a^2 - z2 * V[1, 1], -2 * (a * s + z2 * V[1, 2]), s^2 - z2 * V[2, 2]); sort(Re(polyroot(q))) }
out$fieller <- lapply(c(0.25, 0.5, 0.9), fieller)

dir.create("tests/reference/r", showWarnings = FALSE)
write(toJSON(out, digits = 15, auto_unbox = TRUE, pretty = TRUE), "tests/reference/r/margins.json")
