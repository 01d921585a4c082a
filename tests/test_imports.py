"""No cycles among the imports of modules, those inside functions counted: a module is read after all that it names.

A cycle is a strongly connected component of the graph of imports; `python tests/test_imports.py` prints them.
"""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = "glmclf"


def module_files() -> dict[str, pathlib.Path]:
    """Dotted names of all modules; a package's own is that of its `__init__`."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(tree: ast.AST):
    """Import statements, those inside functions too; not those of `if TYPE_CHECKING`, which never run."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)


def targets(node: ast.Import | ast.ImportFrom, module: str, is_package: bool, known: set[str]) -> set[str]:
    """Modules of the package that a statement names: of `from package import x` the module x, of a name its owner."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & known
    base = node.module or ""
    if node.level:
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + is_package]
        base = ".".join([*parts, *([base] if base else [])])
    named = {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
    return named & known


def imports() -> dict[str, set[str]]:
    """Each module with those that it imports."""
    files = module_files()
    known = set(files)
    graph = {}
    for module, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = (targets(node, module, path.name == "__init__.py", known) for node in statements(tree))
        graph[module] = set().union(*found) - {module}
    return graph


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of more than one node (Kosaraju): the cycles."""
    back: dict[str, set[str]] = {node: set() for node in graph}
    for node, others in graph.items():
        for other in others:
            back[other].add(node)
    found, placed = [], set()
    for start in reversed(_finished(graph)):
        if start in placed:
            continue
        reached, todo = set(), [start]
        while todo:
            node = todo.pop()
            if node not in placed:
                placed.add(node)
                reached.add(node)
                todo += back[node]
        if len(reached) > 1:
            found.append(reached)
    return found


def _finished(graph: dict[str, set[str]]) -> list[str]:
    """Nodes in the order in which a search in depth leaves them."""
    order, seen = [], set()
    for start in graph:
        todo = [(start, False)]
        while todo:
            node, leaving = todo.pop()
            if leaving:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                todo += [(node, True), *((other, False) for other in sorted(graph[node]))]
    return order


def cycles() -> list[set[str]]:
    found = [{module.removeprefix(f"{PACKAGE}.") for module in cycle} for cycle in components(imports())]
    return sorted(found, key=lambda cycle: (-len(cycle), sorted(cycle)))


def test_components_of_a_graph():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a", "e"}}
    assert sorted(map(sorted, components(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_what_a_statement_imports():
    known = {"p", "p.a", "p.a.x", "p.b"}
    for text, module, package, expected in (
        ("from p.a import x", "p.b", False, {"p.a.x"}),
        ("from p.a import name", "p.b", False, {"p.a"}),
        ("from p import a, b", "p.a.x", False, {"p.a", "p.b"}),
        ("from . import x", "p.a", True, {"p.a.x"}),
        ("from .. import b", "p.a.x", False, {"p.b"}),
        ("from .x import name", "p.a", True, {"p.a.x"}),
        ("import p.a.x, json", "p.b", False, {"p.a.x"}),
    ):
        (node,) = ast.parse(text).body
        assert targets(node, module, package, known) == expected, text
    text = "if TYPE_CHECKING:\n    import p.a\nelse:\n    import p.b\ndef f():\n    if 1:\n        from p import a"
    assert sum(1 for _ in statements(ast.parse(text))) == 2


def test_imports_make_no_cycle():
    now = cycles()
    assert len(imports()) > 100
    assert not now, f"modules that import each other, in functions or not: {[sorted(cycle) for cycle in now]}"


if __name__ == "__main__":
    for cycle in cycles():
        print(sorted(cycle))
