from glmclf.results.generative.canonical import CanonicalTables as CanonicalTables
from glmclf.results.generative.errors import ErrorTables as ErrorTables
