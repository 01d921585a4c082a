"""great_tables: frames of results go in as they are."""

import html
import re

import pytest
import references

great_tables = pytest.importorskip("great_tables")


@pytest.mark.parametrize("frame", ["tidy", "summary_frame", "glance", "odds_ratios"])
def test_frames_go_in(frame):
    res = references.fitted("birthwt__logit")
    table = getattr(res, frame)().reset_index(names="row")
    page = great_tables.GT(table).fmt_number(columns=list(table.columns[2:]), decimals=4).as_raw_html()
    cells = [html.unescape(x) for x in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert len(cells) == table.size
    values = references.reference("birthwt__logit")[0]["values"]
    if frame in ("tidy", "summary_frame"):
        assert "C(race)[T.2]" in cells and f"{values['bse']['smoke']:.4f}" in cells
