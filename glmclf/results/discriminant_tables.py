from glmclf.results.generative.discriminant_tables import CanonicalTables as CanonicalTables
from glmclf.results.generative.discriminant_tables import ErrorTables as ErrorTables
