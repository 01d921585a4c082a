"""What type checkers see of glmclf from outside: `.ci/wheel` runs mypy --strict on it beside the installed wheel."""

from typing import assert_type

import glmclf
import glmclf.formula.api as smf
from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, datasets
from glmclf.results.binary import BinaryResults
from glmclf.results.discriminant import DiscriminantResults
from glmclf.results.implied_logit import ImpliedLogit
from glmclf.results.marginal_effects import MarginalEffects
from glmclf.results.multinomial import MultinomialResults
from glmclf.results.naive_bayes import NaiveBayesResults
from glmclf.results.separation import Separation

spector = datasets.load("spector")
model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", spector)
assert_type(model, Logit)
res = model.fit()
assert_type(res, BinaryResults)
assert_type(res.with_cov("HC0"), BinaryResults)
assert_type(res.summary().as_latex(), str)
assert_type(res.get_margeff(), MarginalEffects)
assert_type(model.fit_constrained("GPA = PSI"), BinaryResults)
assert_type(Probit(spector["GRADE"], spector[["GPA"]]).fit(), BinaryResults)
assert_type(CLogLog.from_formula("GRADE ~ GPA", spector).fit(), BinaryResults)
assert_type(MNLogit.from_formula("GRADE ~ GPA", spector).fit(), MultinomialResults)
assert_type(LDA.from_formula("GRADE ~ GPA", spector).fit(), DiscriminantResults)
assert_type(QDA.from_formula("GRADE ~ GPA", spector).fit().discriminant, ImpliedLogit)
assert_type(NaiveBayes.from_formula("GRADE ~ GPA", spector).fit(), NaiveBayesResults)
assert_type(smf.logit("GRADE ~ GPA", spector).fit(), BinaryResults)
assert_type(glmclf.detect_separation("GRADE ~ GPA", spector), Separation | None)

print(res.params, res.bse, res.conf_int(), res.llf, res.odds_ratios(), res.tidy(), res.glance())
print(res.predict(spector), res.get_prediction(spector).summary_frame(), res.roc(), res.gof_test())
print(res.t_test("GPA = 0"), res.wald_test("GPA = 0"), res.wald_test_terms(), res.anova(), res.compare_lr_test(res))
res.save("fit.json")
print(glmclf.load("fit.json"), glmclf.compare(res, res), glmclf.plots)
