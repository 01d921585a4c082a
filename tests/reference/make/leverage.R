# HC2 to HC5 of R's sandwich: tests/reference/leverage/sandwich.json.
# Rscript tests/reference/make/leverage.R   (from the root of the repository; glm, sandwich, jsonlite)
# Bread and hat values of glm are of the expected information: `meat` is n times meatHC, `bse` is of Logit alone.
suppressMessages({library(sandwich); library(jsonlite)})
read <- function(name) read.csv(file.path("tests/reference/data", paste0(name, ".csv")))
tight <- glm.control(epsilon = 1e-15, maxit = 200)
kinds <- c("HC2", "HC3", "HC4", "HC4m", "HC5")
titanic <- read("titanic")
titanic <- titanic[rep(seq_len(nrow(titanic)), titanic$n), ]
weighted <- read("hard_weights")
of <- function(formula, link, data, weights = NULL)
  suppressWarnings(do.call(glm, list(formula, binomial(link), data, weights = weights, control = tight)))
fits <- list(
  spector__logit = of(GRADE ~ GPA + TUCE + PSI, "logit", read("spector")),
  spector__probit = of(GRADE ~ GPA + TUCE + PSI, "probit", read("spector")),
  spector__cloglog = of(GRADE ~ GPA + TUCE + PSI, "cloglog", read("spector")),
  menarche__logit = of(cbind(Menarche, Immature) ~ Age, "logit", read("menarche")),
  menarche__probit = of(cbind(Menarche, Immature) ~ Age, "probit", read("menarche")),
  menarche__cloglog = of(cbind(Menarche, Immature) ~ Age, "cloglog", read("menarche")),
  mtcars__logit_hp = of(am ~ wt + hp, "logit", read("mtcars")),
  titanic__logit = of((survived == "Yes") ~ cls + sex + age, "logit", titanic),
  hard_weights__logit = of(y ~ x + z, "logit", weighted, weights = weighted$w))
out <- list(program = paste(R.version.string, "sandwich", packageVersion("sandwich")), values = list())
for (name in names(fits)) {
  m <- fits[[name]]
  one <- list()
  for (kind in kinds) {
    one[[kind]] <- list(meat = unname(nobs(m) * meatHC(m, type = kind)))
    if (m$family$link == "logit") one[[kind]]$bse <- unname(sqrt(diag(vcovHC(m, type = kind))))
  }
  out$values[[name]] <- one
}
write(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = TRUE), "tests/reference/leverage/sandwich.json")
