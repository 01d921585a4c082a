"""The map of the package: folders that can be read at a glance, sub-packages in order, each class name once."""

import ast
import collections

import pytest
import test_layout

ORDER = {  # a sub-package imports from those before it in its layer
    "core": ["numerics", "design", "rows", "likelihood", "fit", "separation", "penalised", "gaussian", "discriminant",
             "naive_bayes"],
    "inference": ["hypotheses", "covariance", "residuals", "profile", "specification", "margins", "performance",
                  "generative"],
    "data": ["table", "transforms", "formula", "derivatives", "design", "response", "source", "reading"],
    "results": ["file_schema", "saving", "tables", "hypotheses", "", "comparison", "diagnostics", "margins",
                "performance", "regression", "generative", "pooling"],
}
WITHOUT_NOUN = ("The same", "These", "Those", "It ", "This ", "That ", "Its ", "Of ")  # for who arrives by search
SIZE = 20  # files of a folder that one takes in at a glance


def package(module):
    """Layer and sub-package: ``("core", "fit")`` of ``core/fit/aliasing``, ``""`` beside the sub-packages."""
    layer, *rest = module.split("/")
    if layer not in ORDER or not rest:
        return layer, ""
    return layer, rest[0] if rest[0] in ORDER[layer] else ""


def reexports(path):
    """A one-line module that keeps a documented path."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return bool(tree.body) and all(isinstance(node, ast.ImportFrom) for node in tree.body)


@pytest.mark.parametrize("layer", ORDER)
def test_sub_packages_import_downwards(repository, layer):
    known = test_layout.modules(repository)
    wrong = set()
    for module, names, _ in test_layout.cases(repository):
        own = package(module)
        if own[0] != layer or reexports(known[module]):
            continue
        for name in names:
            parts = name.split(".")[1:]
            while parts and "/".join(parts) not in known and "/".join([*parts, "__init__"]) not in known:
                parts = parts[:-1]
            other = package("/".join(parts))
            order = ORDER[layer]
            if name.startswith("glmclf.") and other[0] == layer and order.index(other[1]) > order.index(own[1]):
                wrong.add(f"{'/'.join(own)} imports {'/'.join(other)}")
    assert not wrong, sorted(wrong)


def test_folders_are_small(repository):
    """Files of more than a re-export; the one-line modules keep documented paths."""
    counts = collections.Counter()
    for path in test_layout.modules(repository).values():
        counts[path.parent] += not reexports(path)
    wrong = {str(folder): count for folder, count in counts.items() if count > SIZE}
    assert not wrong, wrong


def test_class_names_are_unique(repository):
    where = collections.defaultdict(list)
    for module, path in test_layout.modules(repository).items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(module)
    twice = {name: places for name, places in where.items() if len(places) > 1}
    assert not twice, twice


def test_docstrings_begin_with_their_subject(repository):
    wrong = []
    for module, path in test_layout.modules(repository).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node) or ""
                if doc.startswith(WITHOUT_NOUN):
                    wrong.append(f"{module}: {doc.splitlines()[0]}")
    assert not wrong, wrong


ABOUT_TYPES = {  # modules that ask for the type of a value, and refuse nothing by it
    "inference/hypotheses/nonlinear", "models/clusters", "plots/reliability", "results/comparison/regression_table",
}


def test_arguments_are_checked_by_the_helpers_of_checks(repository):
    """Only `glmclf/checks.py` has to know that True is an int, and a duration a whole number of numpy's."""
    wrong = []
    for module, path in test_layout.modules(repository).items():
        if module.split("/")[0] not in ("inference", "results", "models", "plots") or module in ABOUT_TYPES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                types = {getattr(part, "id", "") for part in ast.walk(node.args[1])}
                if types & {"bool", "int"}:
                    wrong.append(f"{module}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, wrong
