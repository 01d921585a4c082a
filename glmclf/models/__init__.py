"""The public model classes: collect inputs, call the layers, return results."""


def rebuild(stored, functions=None):
    """The model of a saved result, without its rows."""
    from glmclf.models import binary

    classes = {c.__name__: c for c in (binary.Logit, binary.Probit, binary.CLogLog)}
    if stored["class"] not in classes:
        raise ValueError(f"the file holds a {stored['class']}, which this version of glmclf does not have")
    return classes[stored["class"]]._rebuild(stored, functions)
