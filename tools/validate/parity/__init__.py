"""How the pixels that are served differ from those of the training, and why.

``check.check_preprocessing`` is the door; ``comparison`` has what goes in and comes out.
"""
