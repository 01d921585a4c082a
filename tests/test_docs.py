"""Code in the documentation that is no `>>>` block (which pytest runs itself): Python, commands, printed summaries.

``python tests/test_docs.py`` draws the picture of the README anew.
"""

import doctest
import html
import pathlib
import re
import shlex

import numpy as np
import pytest

import glmclf
from glmclf import __main__ as command
from glmclf import datasets, plots
from glmclf.formula import api

FENCE = re.compile(r"^```(\{?[\w-]*\}?)[^\n`]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^```\{figure-of\} (\w+)\n:alt: (.{30,})\n(?:\n.+\n)?```$", re.MULTILINE)
COMMAND = re.compile(r"python -m glmclf ([^`\n&]+)")
MOMENT = re.compile(r"(Date|Time):.{32}")
NOT_RUN = {  # a line of the block, or words of the command: why it is compiled, or parsed, and not run
    'Client("tcp://scheduler:8786")': "needs a cluster",
    "rows.dta": "a file of the reader's",
    "FOLDER": "a folder of the reader's",
}


def reason(text):
    return next((why for words, why in NOT_RUN.items() if words in text), None)


def pages(repository):
    docs = (p for p in sorted((repository / "docs").rglob("*.md")) if "_build" not in p.parts)
    paths = [*docs, repository / "README.md"]
    return {path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_python_blocks_run(repository):
    seen = 0
    for page, text in pages(repository).items():
        for language, code in FENCE.findall(text):
            if language != "python" or ">>>" in code:
                continue
            compiled = compile(code, page, "exec")
            seen += 1
            if reason(code) is None:
                exec(compiled, {"__name__": page})
    assert seen >= 2


def test_commands_run(repository, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # of commands that write files
    seen = set()
    for page, text in pages(repository).items():
        for line in COMMAND.findall(text):
            if line in seen or "--help" in line or "MODEL" in line:
                continue
            seen.add(line)
            if reason(line) is not None:
                command.parser().parse_args(shlex.split(line))
                continue
            assert command.main(shlex.split(line)) in (None, 0), f"{page}: {line}"
            assert "Results" in capsys.readouterr().out
    assert len(seen) >= 5


def test_the_summary_of_the_readme(repository, capsys):
    readme = pages(repository)["README.md"]
    printed = next(code for language, code in FENCE.findall(readme) if not language and "Logit Regression" in code)
    command.main(["logit", "spector", "GRADE ~ GPA + TUCE + PSI"])
    found = capsys.readouterr().out
    alike = [[line.rstrip() for line in MOMENT.sub(r"\1", text).strip("\n").split("\n")] for text in (found, printed)]
    assert alike[0] == alike[1]


def test_every_block_is_looked_after(repository):
    kinds = {"python", "pycon", "bibtex", ""}  # directives, in braces, are sphinx's
    found = {kind for text in pages(repository).values() for kind, _ in FENCE.findall(text)}
    found = {kind for kind in found if not kind.startswith("{")}
    assert found <= kinds, found - kinds


def test_figures_have_words_and_stand_below_their_code(repository):
    seen = 0
    for page, text in pages(repository).items():
        figures = list(FIGURE.finditer(text))
        assert len(figures) == text.count("\n```{figure-of}"), f"{page}: `:alt:` says what a figure shows"
        for found in figures:
            assert re.search(rf"^>>> (?:.*, )?{found[1]}\b.* = ", text[: found.start()], re.M), f"{page}: {found[1]}"
        seen += len(figures)
    assert seen > 20


def test_every_plot_is_shown(repository):
    """In the guide, the figure below a plot's last line is its own."""
    text = pages(repository)["docs/guides/plots.md"]
    shown = {re.findall(r"plots\.(\w+)\(", text[: found.start()])[-1] for found in FIGURE.finditer(text)}
    assert set(plots.__all__) <= shown, set(plots.__all__) - shown


def places(repository):
    """Files and folders of the repository that a page may name."""
    inner = ("glmclf", "tests", "docs", "examples", ".ci")
    found = [path for folder in inner for path in (repository / folder).rglob("*")]
    return [f"/{path.relative_to(repository).as_posix()}" for path in [*found, *repository.glob("*")]]


NAMED_PATH = re.compile(r"^[\w.{},-]+(?:/[\w.{},-]*)*$")
NOT_KEPT = {"examples/NN_topic.py", "docs/_build/html"}


def named_paths(text):
    """Paths in a line of code or of a picture: with a slash, or with a suffix; of `a/{b,c}.py` both."""
    for word in text.split():
        if not NAMED_PATH.match(word) or not ("/" in word or re.search(r"\.(py|md)$", word)):
            continue
        before, brace, rest = word.partition("{")
        middle, _, after = rest.partition("}")
        yield from (before + one + after for one in middle.split(",")) if brace else [word]


def test_the_map_names_what_is_there(repository):
    """Each path, or end of one, in the pages for contributors and in their pictures is that of a file or folder."""
    texts = {}
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        texts[page] = re.findall(r"`([^`\n]+)`", (repository / page).read_text(encoding="utf-8"))
    for picture in sorted((repository / "docs/images").glob("path-of-*.svg")):
        lines = re.findall(r"<text[^>]*class=\"c\"[^>]*>([^<]+)<", picture.read_text(encoding="utf-8"))
        texts[f"docs/images/{picture.name}"] = map(html.unescape, lines)
    there, seen = places(repository), 0
    for page, found in texts.items():
        paths = {path for text in found for path in named_paths(text)} - NOT_KEPT
        gone = sorted(path for path in paths if not any(p.endswith("/" + path.strip("/")) for p in there))
        assert not gone, f"{page} names {', '.join(gone)}: no such file or folder"
        seen += len(paths)
    assert seen > 80


def test_the_reference_lists_every_public_name(repository):
    page = (repository / "docs/api.md").read_text(encoding="utf-8").split()
    expected = [*glmclf.__all__]
    for module, names in {"plots": plots.__all__, "formula.api": api.__all__, "datasets": datasets.__all__}.items():
        expected += [f"{module}.{name}" for name in names]
    missing = [name for name in expected if name not in page]
    assert not missing, f"docs/api.md, in an autosummary: {', '.join(missing)}"


def test_the_readme_names_files_that_are_there(repository):
    """Without links, which would lead nowhere on the page of a package index; one picture."""
    picture = re.compile(r"^!\[.{30,}\]\(docs/images/spector\.svg\)$", re.M)
    readme, pictures = picture.subn("", pages(repository)["README.md"])
    assert pictures == 1
    named = re.findall(r"`((?:docs|examples|glmclf)/[\w./-]+|[A-Z]+\.(?:md|cff))`", readme)
    assert len(named) > 12 and all((repository / path).exists() for path in named), named
    assert not re.search(r"\]\((?!https?:)", readme)


def picture_of_the_readme(repository):
    """The figure that the code of the README leaves, and what its curves are, in words."""
    names = {}
    for example in doctest.DocTestParser().get_examples((repository / "README.md").read_text(encoding="utf-8")):
        exec(example.source, names)
    curves = {line.get_label(): np.round(line.get_ydata()[::7], 2).tolist() for line in names["fig"].axes[0].lines}
    return names["fig"], "; ".join(f"{name}: {p}" for name, p in curves.items())


def test_the_picture_of_the_readme_is_what_its_code_draws(repository):
    pytest.importorskip("matplotlib")
    kept = (repository / "docs/images/spector.svg").read_text(encoding="utf-8")
    _, curves = picture_of_the_readme(repository)
    assert curves.count(":") == 2 and f"<dc:description>{curves}</dc:description>" in kept


if __name__ == "__main__":
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "README"
    root = pathlib.Path(__file__).resolve().parent.parent
    picture, drawn = picture_of_the_readme(root)
    picture.savefig(root / "docs/images/spector.svg", metadata={"Date": None, "Description": drawn})
