"""How the pixels that are served differ from those of the training, and why."""
