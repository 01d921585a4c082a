"""The shipped data sets: sizes, contents, exact numbers, documentation."""

import pathlib

import numpy as np
import pandas as pd
import pytest
import references

from glmclf import datasets


@pytest.mark.parametrize("name", datasets.names())
def test_size_is_the_one_in_the_catalogue(name):
    rows, columns, _ = datasets.CATALOGUE[name]
    assert datasets.load(name).shape == (rows, columns)


def test_names_are_sorted_and_are_the_files_and_those_of_statsmodels(repository):
    files = sorted(p.stem for p in (repository / "glmclf" / "datasets").glob("*.csv"))
    assert datasets.names() == sorted([*files, *datasets.OF_STATSMODELS])


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"'spektor'.*beetles, fair, penguins, spector"):
        datasets.load("spektor")


@pytest.mark.parametrize("name", ["../spector", "spector.csv", ""])
def test_a_path_is_not_a_name(name):
    with pytest.raises(ValueError, match="no data set"):
        datasets.load(name)


def test_each_call_gives_a_new_frame():
    frame = datasets.load("spector")
    frame["GPA"] = 0.0
    assert datasets.load("spector")["GPA"].iloc[0] == 2.66


def test_spector_is_the_reference_data():
    _, expected = references.reference("spector__logit")
    pd.testing.assert_frame_equal(datasets.load("spector"), expected)


def test_fair_is_the_reference_data():
    _, expected = references.reference("fair__probit")
    fair = datasets.load("fair")
    np.testing.assert_array_equal(fair["affairs"] > 0, expected["affair"] == 1)
    shared = list(fair.columns.drop("affairs"))
    np.testing.assert_array_equal(fair[shared].to_numpy(float), expected[shared].to_numpy(float))
    assert fair["affairs"].iloc[0] == 0.1111111


def test_penguins():
    penguins = datasets.load("penguins")
    assert penguins["species"].value_counts().to_dict() == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert penguins.isna().sum()[lambda s: s > 0].to_dict() == {
        "bill_length_mm": 2, "bill_depth_mm": 2, "flipper_length_mm": 2, "body_mass_g": 2, "sex": 11}
    assert penguins["body_mass_g"].sum() == 1437000.0
    assert penguins["sex"].dropna().unique().tolist() == ["male", "female"]


def test_beetles():
    beetles = datasets.load("beetles")
    assert beetles["n"].sum() == 481 and beetles["killed"].sum() == 291
    assert (beetles["killed"] + beetles["survived"] == beetles["n"]).all()
    assert beetles["dose"].tolist() == [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839]


def test_numbers_are_read_as_the_nearest_double(tmp_path):
    values = np.random.default_rng(5).standard_normal(2000) * 10.0 ** np.random.default_rng(6).integers(-300, 300, 2000)
    file = tmp_path / "x.csv"
    file.write_text("x\n" + "\n".join(map(repr, values.tolist())))
    np.testing.assert_array_equal(datasets.read_csv(file)["x"], values)


@pytest.mark.parametrize("name", datasets.names())
def test_source_licence_and_columns_are_written_down(name):
    readme = (pathlib.Path(datasets.__file__).parent / "README.md").read_text(encoding="utf-8")
    rows, columns, _ = datasets.CATALOGUE[name]
    file = f"`{name}`, read from statsmodels" if name in datasets.OF_STATSMODELS else f"`{name}.csv`"
    assert f"| {file} | {rows} x {columns} |" in readme
    section = readme.partition(f"## {name}\n")[2].partition("\n## ")[0]
    for column in datasets.load(name).columns:
        assert column in section, f"{column} of {name} is not described"
    assert name in datasets.load.__doc__
