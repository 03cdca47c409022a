"""Index functions: a layout's offset as code of each target language."""
