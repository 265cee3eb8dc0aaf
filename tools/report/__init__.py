"""``tandem report``: a record, or several side by side, as a page, a table, or text."""
