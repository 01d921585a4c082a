"""The shape of the package: who may import whom, what `import glmclf` loads, public names and their docstrings."""

import ast
import functools
import importlib.util
import inspect
import os
import pickle
import re
import subprocess
import sys

import numpydoc_sections
import pytest

import glmclf
from glmclf import datasets, plots

LAYERS = ["errors", "checks", "caching", "registry", "core", "inference", "data", "results", "models"]
# on top of the layers, or beside them
OUTSIDE = {"formula", "datasets", "__main__", "shell", "plots", "reports", "sklearn"}
LAZY = {"matplotlib", "sklearn", "dask", "narwhals", "polars", "pyarrow", "statsmodels", "tqdm"}
LAZY_PARTS = {"scipy.stats", "scipy.optimize"}
ARRAYS_ONLY = {"core", "inference"}
# modules that nothing imports but who asks for them: the package at their top
AT_THE_TOP = {"sklearn": {"sklearn"}, "data/source/dask_columns": {"dask"}}


def modules(repository):
    root = repository / "glmclf"
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.py"))}


def layer(module):
    return module.split("/")[0].split(".")[0]


def top_level(tree):
    """Nodes that run at import: all but what is inside functions and `if TYPE_CHECKING`."""
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        todo.extend(ast.iter_child_nodes(node))


def imported(nodes, module, package):
    """Absolute names of the modules that the import statements among the nodes ask for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = ["glmclf", *module.split("/")]
                parts = parts[: len(parts) - node.level + (1 if package else 0)]
                base = ".".join(parts + ([base] if base else []))
            yield from (f"{base}.{alias.name}" for alias in node.names)


@functools.cache
def cases(repository):
    """Of each module the names that it imports anywhere, and at its top."""
    found = []
    for module, path in modules(repository).items():
        tree, package = ast.parse(path.read_text(encoding="utf-8")), path.name == "__init__.py"
        names, at_the_top = (list(imported(nodes, module, package)) for nodes in (ast.walk(tree), top_level(tree)))
        found.append((module, names, at_the_top))
    assert sum(len(at_the_top) for *_, at_the_top in found) > 100
    return found


def test_imports_point_down(repository):
    wrong = []
    for module, names, _ in cases(repository):
        own = layer(module)
        if own not in LAYERS:
            continue
        for name in names:
            if not name.startswith("glmclf."):
                continue
            other = name.split(".")[1]
            if other in OUTSIDE or (other in LAYERS and LAYERS.index(other) > LAYERS.index(own)):
                wrong.append(f"{module} imports {name}")
    assert not wrong, wrong


def test_every_module_belongs_to_a_layer(repository):
    assert {layer(m) for m in modules(repository)} - {"__init__"} <= set(LAYERS) | OUTSIDE


def test_a_constant_is_defined_once(repository):
    """What a name bounds, or lists, is to be read in one place."""
    places = {}
    for module, path in modules(repository).items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                for name in ast.walk(target) if target else ():
                    if isinstance(name, ast.Name) and len(name.id) > 1 and name.id.isupper():
                        places.setdefault(name.id, []).append(module)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_cached_attributes_have_no_lock(repository):
    """They are those of `glmclf/caching.py`: functools' own have a lock for all instances in Python 3.11."""
    wrong = [module for module, path in modules(repository).items() if module != "caching"
             and re.search("functools.*cached_property", path.read_text(encoding="utf-8"))]
    assert not wrong, f"import cached_property from glmclf.caching: {wrong}"


def test_core_and_inference_know_no_tables(repository):
    wrong = [f"{m} imports {name}" for m, names, _ in cases(repository) if layer(m) in ARRAYS_ONLY
             for name in names if name.split(".")[0] in {"pandas", "patsy", "narwhals"}]
    assert not wrong, wrong


def test_models_leave_formulas_to_the_data_layer(repository):
    wrong = [f"{m} imports {name}" for m, names, _ in cases(repository) if layer(m) not in ("data", "results")
             for name in names if name.split(".")[0] == "patsy"]
    assert not wrong, wrong


def test_heavy_packages_are_imported_where_they_are_used(repository):
    wrong = []
    for module, _, at_the_top in cases(repository):
        for name in at_the_top:
            lazy = LAZY - AT_THE_TOP.get(module, set())
            heavy = name.split(".")[0] in lazy or any(name == p or name.startswith(p + ".") for p in LAZY_PARTS)
            if heavy:
                wrong.append(f"{module} imports {name} at the top")
    assert not wrong, wrong


FITS = ["Logit.from_formula('GRADE ~ GPA', table)", "Probit(table.GRADE, table[['PSI']] + 1)",
        "MNLogit.from_formula('GRADE ~ GPA', table)"]
KEPT = [(model, penalty, how) for how in ("save", "pickle")
        for model, penalty in (("LDA", None), ("NaiveBayes", None), ("MNLogit", None), ("MNLogit", 0.1))]
# a process imports the package, and answers each question in a copy of itself that has seen no other; all but the first
# two ask about what fits need, and have a model imported for them
ASK = """
import os, sys, traceback
import glmclf
for i, code in enumerate({codes!r}):
    if i == 2:
        glmclf.Logit
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            exec(code, {{"glmclf": glmclf, "sys": sys}})
            print(*sorted(sys.modules), sep="\\n")
        except BaseException:
            print("FAILED", traceback.format_exc())
        print("END OF ANSWER")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


def asked(codes):
    """What each code prints, and the modules that are loaded after it, of processes that have imported glmclf."""
    together = [codes] if hasattr(os, "fork") else [[code] for code in codes]
    said = []
    for some in together:
        script = ASK.format(codes=some) if hasattr(os, "fork") else (
            f"import glmclf, sys\n{some[0]}\nprint(*sorted(sys.modules), sep='\\n')\nprint('END OF ANSWER')")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        said += done.stdout.split("END OF ANSWER\n")[:-1]
    assert len(said) == len(codes)
    return said


def test_what_needs_a_package_is_imported_by_nobody(repository):
    wrong = [f"{module} imports {name}" for module, names, _ in cases(repository) for name in names
             if name.startswith("glmclf.") and layer(name.removeprefix("glmclf.")) in AT_THE_TOP]
    assert not wrong, wrong


def submodules(repository):
    """Submodules that are attributes of the package; `shell` is the command's alone."""
    return {path.stem for path in (repository / "glmclf").iterdir() if path.stem != "shell"
            if (path.suffix == ".py" and not path.stem.startswith("__")) or (path / "__init__.py").exists()}


@pytest.fixture(scope="module")
def loaded(repository, tmp_path_factory):
    """``loaded(question)``: words that a new process prints, with the modules that it has loaded by then."""
    names = sorted(submodules(repository) - {*AT_THE_TOP})
    questions = {
        "import": "",
        "a model": "glmclf.Logit",
        "a fit": "import glmclf.datasets\n"
                 "res = glmclf.Logit.from_formula('GRADE ~ GPA', glmclf.datasets.load('spector')).fit()\n"
                 "res.conf_int(); res.pvalues\n"
                 "res.get_prediction().summary_frame()",
        "late classes": "print(*dir(glmclf))\n"
                        "from glmclf import *\n"
                        "assert LDA is glmclf.LDA is glmclf.models.discriminant.LDA\n"
                        "assert NaiveBayes is glmclf.NaiveBayes",
        "submodules": "assert not {'glmclf.datasets', 'glmclf.formula'} & set(sys.modules)\n"
                      f"assert all(getattr(glmclf, name) is sys.modules['glmclf.' + name] for name in {names})\n"
                      "assert 'GRADE' in glmclf.datasets.load('spector') and glmclf.formula.api.logit\n"
                      "from glmclf import datasets, formula\n"
                      "assert datasets is glmclf.datasets and formula is glmclf.formula",
    }
    for fit in FITS:
        questions[fit] = ("import glmclf.datasets\n"
                          "table = glmclf.datasets.load('spector')\n"
                          f"glmclf.{fit}.fit().summary().as_text()")
    folder, fits = tmp_path_factory.mktemp("kept"), {}
    for i, (model, penalty, how) in enumerate(KEPT):
        if (model, penalty) not in fits:
            made = getattr(glmclf, model).from_formula("species ~ bill_length_mm", datasets.load("penguins"))
            fits[model, penalty] = made.fit() if penalty is None else made.fit_regularized(penalty)
        res, path = fits[model, penalty], folder / str(i)
        if how == "save":
            res.save(path)
        else:
            path.write_bytes(pickle.dumps(res))
        read = f"glmclf.load({str(path)!r})" if how == "save" else f"pickle.load(open({str(path)!r}, 'rb'))"
        questions[model, penalty, how] = (
            f"import pickle\nprint({read}.predict({{'bill_length_mm': [40.0]}}).iloc[0].idxmax())")
    answers = dict(zip(questions, asked(list(questions.values())), strict=True))

    def answer(question):
        assert "FAILED" not in answers[question], answers[question]
        return set(answers[question].split())

    return answer


def test_what_import_glmclf_loads(loaded):
    found = loaded("import")
    assert "glmclf.registry" in found and not {"numpy", "pandas", "scipy", "patsy", "glmclf.models"} & found
    found = loaded("a model")
    assert "glmclf.models.binary" in found
    for name in ["scipy.stats", "scipy.optimize", "matplotlib", "sklearn", "statsmodels.api", "statsmodels.base.model",
                 "statsmodels.iolib.summary", "dask", "narwhals", "polars", "pyarrow.dataset", "patsy"]:
        assert name not in found, f"glmclf.Logit loads {name}"


def test_a_fit_and_its_summary_load_no_scipy_stats(loaded):
    found = loaded("a fit")
    assert "glmclf.core.fit.solvers" in found
    for name in ["scipy.stats", "matplotlib", "sklearn", "statsmodels.tools", "polars"]:
        assert name not in found, f"a fit loads {name}"


@pytest.mark.parametrize("fit", FITS)
def test_an_ordinary_fit_loads_what_it_needs(loaded, fit):
    others = ["core.gaussian", "core.naive_bayes", "core.penalised", "core.fit.bias", "core.separation",
              "core.fit.constraints", "data.design.codec", "data.reading.features", "inference.generative",
              "inference.profile", "inference.covariance.resampling", "models.discriminant",
              "models.naive_bayes", "results.generative", "results.regression.path", "results.regression.penalized",
              "results.diagnostics.goodness_of_fit", "results.diagnostics.residuals", "results.hypotheses.pairwise",
              "results.margins.rows", "results.performance.rows"]
    found = loaded(fit)
    assert "glmclf.core.fit.solvers" in found
    assert not {f"glmclf.{name}" for name in others} & found


def test_classes_that_are_imported_late(loaded):
    names = {"LDA", "QDA", "NaiveBayes"}
    assert names <= loaded("late classes") and names <= set(dir(glmclf))
    assert len(dir(glmclf)) == len(set(dir(glmclf)))
    public = {name for name in dir(glmclf) if not name.startswith("_")}
    assert public == {*glmclf.__all__, "datasets", "errors", "formula", "plots", "sklearn"}
    with pytest.raises(AttributeError, match="module 'glmclf' has no attribute 'LDS'"):
        glmclf.LDS


def test_it_works_without_docstrings_and_assertions(repository):
    """Programs that run under python -OO have neither."""
    optional = ", glmclf.sklearn" if importlib.util.find_spec("sklearn") else ""
    code = (f"import glmclf, glmclf.formula.api, glmclf.plots{optional}\n"
            "assert False, 'this goes away'\n"
            "table = glmclf.datasets.load('spector')\n"
            "print([getattr(glmclf, name).from_formula('GRADE ~ GPA + TUCE', table).fit().model.__doc__ for name in "
            "('Logit', 'MNLogit', 'LDA', 'NaiveBayes')])\n"
            "print(glmclf.formula.api.logit('GRADE ~ GPA', table).fit().summary())\n")
    found = subprocess.run([sys.executable, "-OO", "-B", "-c", code], cwd=repository, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("[None, None, None, None]") and "Logit Regression Results" in found.stdout


def test_submodules_need_no_import_of_their_own(loaded, repository):
    assert {"datasets", "formula", "errors", "models", "results"} <= submodules(repository)
    loaded("submodules")


@pytest.mark.slow
def test_type_checkers_know_what_is_imported_late(tmp_path, repository, monkeypatch):
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(repository))
    script, config = tmp_path / "use.py", tmp_path / "mypy.ini"
    script.write_text("import glmclf\nfrom glmclf import LDA, NaiveBayes, datasets\n"
                      "reveal_type(datasets.names())\nreveal_type(glmclf.datasets.names())\n"
                      "reveal_type(LDA)\nreveal_type(glmclf.NaiveBayes)\nreveal_type(glmclf.formula.api.qda)\n")
    # what other packages say of their types is not asked
    config.write_text("[mypy]\nignore_missing_imports = true\nfollow_imports = silent\n"
                      "[mypy-numpy.*,scipy.*,pandas.*,statsmodels.*,matplotlib.*]\n"
                      "follow_imports = skip\nfollow_imports_for_stubs = true\n")
    said = mypy.run([str(script), f"--config-file={config}", "--cache-dir", os.devnull])[0]
    assert said.count("list[str]") + said.count("list[builtins.str]") == 2, said
    for word in ["models.discriminant.LDA", "models.naive_bayes.NaiveBayes", "models.discriminant.QDA"]:
        assert f"glmclf.{word}" in said, said
    assert '"Any"' not in said, said


@pytest.mark.parametrize("model, penalty, how", KEPT)
def test_a_kept_result_finds_its_class(loaded, model, penalty, how):
    assert "Adelie" in loaded((model, penalty, how))


def public(owner):
    """(qualified name, object) of public functions, classes, methods and properties."""
    for name in getattr(owner, "__all__", []):
        thing = getattr(owner, name)
        yield name, thing
        if inspect.isclass(thing):
            for attribute in sorted(dir(thing)):
                if attribute.startswith("_"):
                    continue
                member = inspect.getattr_static(thing, attribute)
                module = getattr(member, "__module__", None) or getattr(getattr(member, "fget", None), "__module__", "")
                if module and not module.startswith("glmclf"):
                    continue
                yield f"{name}.{attribute}", getattr(member, "__func__", member)


def results_classes():
    from glmclf.results import (
        adjusted_predictions,
        binary,
        calibration,
        comparison,
        discriminant,
        discriminant_tables,
        implied_logit,
        judging,
        levels,
        marginal_effects,
        multinomial,
        naive_bayes,
        nonlinear,
        pairwise,
        pooling,
        regression_table,
        regularization,
        regularized,
        roc,
        validation,
    )

    return [
        binary.BinaryResults,
        multinomial.MultinomialResults,
        levels.LevelPredictions,
        levels.Equation,
        marginal_effects.MarginalEffects,
        adjusted_predictions.AdjustedPredictions,
        adjusted_predictions.Contrasts,
        discriminant.DiscriminantResults,
        naive_bayes.NaiveBayesResults,
        implied_logit.ImpliedLogit,
        discriminant_tables.CanonicalTables,
        discriminant_tables.ErrorTables,
        comparison.ConditionalComparison,
        nonlinear.NonlinearTest,
        pairwise.PairwiseTests,
        pooling.PooledResults,
        pooling.PooledTests,
        regression_table.RegressionTable,
        regularized.RegularizedBinaryResults,
        regularized.RegularizedMultinomialResults,
        regularization.RegularizationPath,
        regularization.RegularizationCV,
        judging.ClassificationReport,
        roc.RocCurve,
        roc.MulticlassRoc,
        roc.PrecisionRecall,
        calibration.Calibration,
        validation.Validation,
    ]


def everything_public():
    from glmclf.formula import api

    class Results:
        __all__ = [c.__name__ for c in results_classes()]

    for c in results_classes():
        setattr(Results, c.__name__, c)
    found = [*public(glmclf), *public(datasets), *public(api), *public(plots), *public(Results)]
    if importlib.util.find_spec("sklearn"):
        found += public(importlib.import_module("glmclf.sklearn"))
    return found


def test_public_names():
    assert set(glmclf.__all__) >= {"Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes", "load"}
    assert all(hasattr(glmclf, name) for name in glmclf.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", glmclf.__version__)
    from glmclf.formula import api

    assert {"logit", "probit", "cloglog", "mnlogit", "lda", "qda", "naivebayes"} <= set(api.__all__)


def test_version_is_the_one_of_the_distribution(repository):
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{glmclf.__version__}"' in text


def test_public_objects_have_docstrings():
    missing = [name for name, thing in everything_public()
               if (callable(thing) or isinstance(thing, property) or hasattr(thing, "func"))
               and not (inspect.getdoc(thing) or "").strip()]
    assert not missing, missing


def test_public_functions_document_parameters_and_returns():
    wrong = []
    for name, thing in everything_public():
        if inspect.isfunction(thing):
            wrong += numpydoc_sections.problems(name, thing)
    assert not wrong, "\n".join(wrong)


def test_public_classes_show_an_example():
    missing = [name for name, thing in public(glmclf)
               if inspect.isclass(thing) and "Examples\n" not in (inspect.getdoc(thing) or "")]
    assert not missing, missing


FOREIGN = re.compile(r"/(?:root|home|tmp|work|Users)/[a-z]|\.\./shared|C:\\Users")
TEXT = {".py", ".md", ".toml", ".cfg", ".txt", ".json", ".rst", ""}


def test_no_file_names_a_place_on_somebodys_machine(repository):
    folders = ["glmclf", "tests", "docs", "examples", "benchmarks", ".ci"]
    files = [f for folder in folders for f in (repository / folder).rglob("*")] + list(repository.glob("*"))
    wrong = []
    for file in files:
        skip = {"_build", "auto_examples", "generated", "__pycache__", ".venv", ".git"} & set(file.parts)
        if file.is_file() and file.suffix in TEXT and not skip and file.name != "test_layout.py":
            wrong += [str(file) for _ in FOREIGN.findall(file.read_text(encoding="utf-8", errors="replace"))]
    assert not wrong, sorted(set(wrong))
