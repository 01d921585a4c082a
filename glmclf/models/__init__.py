"""The public model classes: collect inputs, call the layers, return results."""
