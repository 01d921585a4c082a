"""A small reader of numpydoc docstrings: which parameters and sections a function's docstring has."""

import inspect
import re


def sections(doc: str) -> dict[str, str]:
    """Section titles (underlined with dashes) and their text."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}$", doc, flags=re.MULTILINE)
    return {title: text for title, text in zip(parts[1::2], parts[2::2])}


def documented(text: str) -> set[str]:
    """Names described in a Parameters section; ``a, b : float`` describes two."""
    heads = re.findall(r"^(\S[^\n]*?)(?: :[^\n]*)?$", text, flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def problems(name: str, function) -> list[str]:
    """What is missing in the docstring of a public function: a parameter, or the Returns section.

    A method with at most two parameters may do with a sentence, and so may another name of a function ("; see `f`.");
    a docstring with sections must have them all.
    """
    doc = inspect.getdoc(function) or ""
    found = sections(doc)
    described = documented(found.get("Parameters", "") + found.get("Other Parameters", ""))
    signature = inspect.signature(function)
    wanted = [p.name for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if not found and (("." in name and len(wanted) <= 2) or re.search(r"; see `\w+`\.$", doc)):
        return []  # a method that its sentence explains, another name of a documented function
    bad = [f"{name}: parameter {p} is not described" for p in wanted if p not in described]
    if "Returns" not in found and "Yields" not in found and signature.return_annotation not in (None, "None"):
        bad.append(f"{name}: no Returns section")
    return bad
