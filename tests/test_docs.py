"""Code in the documentation that is no `>>>` block (which pytest runs itself): Python, commands, printed summaries."""

import re
import shlex

from glmclf import __main__ as command

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def test_commands_run(repository, capsys):
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
    assert found <= kinds, found - kinds
