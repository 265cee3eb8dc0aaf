"""``tandem import``: a model of your own, checked, to a repository that serves it."""
