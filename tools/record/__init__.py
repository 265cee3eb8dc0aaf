"""What a measuring run leaves: one JSON file, from which reports and models are made later."""
