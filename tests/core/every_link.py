"""Every link of `glmclf/core/likelihood/links.py` by name, in the order of that file: a new one is here by itself."""

from glmclf.core.likelihood import links

LINKS: dict[str, links.Link] = {
    found.name: found()
    for found in vars(links).values()
    if isinstance(found, type) and issubclass(found, links.Link) and found is not links.Link
}
