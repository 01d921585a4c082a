"""Messages of the package in the words of the shell: ``smoothing=.5`` is ``--smoothing .5``."""

from __future__ import annotations

import ast
import re

from glmclf.shell.options import OPTIONS, spelled

#: a Python keyword with its value, if any; not within a formula, as in C(g, Treatment(reference=1))
KEYWORD = re.compile(
    rf"""(?<![\w(."'])(?P<name>{"|".join(OPTIONS)})=(?!=)(?P<value>"[^"]*"|'[^']*'|[{{\[][^]}}]*[]}}]|[-+\w.]*\w)?"""
)

DECIMAL_COMMA = re.compile(r'Make it numbers, pd\.to_numeric\(df\[.*?\)\), or decimal="," where a file is read')
STRAY_WORDS = re.compile(r'Make it numbers, pd\.to_numeric\(df\[.*?\], errors="coerce"\), in which these are missing')


def one_line(message: object) -> str:
    """Message on a single line, with options as the shell takes them."""
    from glmclf.errors import escaped

    return escaped(in_shell(" ".join(str(message).split())), keep="")


def in_shell(text: str) -> str:
    """Translate advice from Python's keywords to the shell's options: ``smoothing=.5`` is --smoothing .5."""
    text = text.replace("summary(discriminant=True)", "--discriminant")
    text = text.replace("summary(levels=True)", "--levels")
    text = STRAY_WORDS.sub("Say by --na-values that these are missing", text)
    text = DECIMAL_COMMA.sub("Read it with --decimal ,", text)
    return KEYWORD.sub(lambda found: " ".join([spelled(found["name"]), *value_in_shell(found["value"])]), text)


def value_in_shell(text: str | None) -> list[str]:
    """Value of a keyword as the shell takes it; empty where there is none, or the option is a switch."""
    if text is None or text == "True":
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return [text]
    if isinstance(value, dict):
        text = ",".join(f"{key}={item}" for key, item in value.items())
    elif isinstance(value, list):
        text = ",".join(map(str, value))
    elif isinstance(value, str):
        text = value
    return [f'"{text}"' if not text or set(text) & set(" \t'();&|<>*$`") else text]
