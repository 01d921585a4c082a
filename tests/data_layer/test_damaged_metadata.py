"""What pandas wrote of its frame into Arrow and Parquet, damaged: the columns are read without it, with a warning.

Right estimates are those of the frame itself.
"""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import glmclf
from glmclf.errors import DataWarning


def table():
    r = np.random.default_rng(0)
    frame = pd.DataFrame({"y": r.integers(0, 2, 60), "x": r.normal(size=60), "g": pd.Categorical(list("abc") * 20)})
    return frame, pa.Table.from_pandas(frame)


SOUND = json.loads(table()[1].schema.metadata[b"pandas"])
DAMAGED = [
    b'{"x": 1}', b"not json", b"[]", b"7", b"\xff\xfe",
    json.dumps({**SOUND, "columns": [{"name": "x"}]}).encode(),
    json.dumps({**SOUND, "columns": [{**c, "numpy_type": "no such"} for c in SOUND["columns"]]}).encode(),
    json.dumps({**SOUND, "index_columns": 7}).encode(),
    json.dumps({**SOUND, "index_columns": ["nowhere"]}).encode(),
    json.dumps({**SOUND, "index_columns": [{"kind": "range", "start": "a", "stop": 3, "step": 1}]}).encode(),
]  # fmt: skip


@pytest.mark.parametrize("written", DAMAGED)
@pytest.mark.parametrize("kind", ["table", "path", "dataset", "callable"])
def test_damaged_descriptions_of_pandas_are_not_used(kind, written, tmp_path):
    frame, whole = table()
    right = glmclf.Logit.from_formula("y ~ x + g", frame).fit().params
    damaged = whole.replace_schema_metadata({b"pandas": written})
    pq.write_table(damaged, tmp_path / "t.parquet")
    data = {"table": damaged, "path": tmp_path / "t.parquet", "dataset": ds.dataset(damaged),
            "callable": lambda: iter(damaged.to_batches(20))}[kind]  # fmt: skip
    with pytest.warns(DataWarning, match="description of a pandas frame .* is damaged .*Write the data anew"):
        found = glmclf.Logit.from_formula("y ~ x + g", data).fit().params
    assert found.index.tolist() == right.index.tolist()
    np.testing.assert_allclose(found, right, rtol=1e-8)
