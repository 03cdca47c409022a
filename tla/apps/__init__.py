"""The programs that a user starts: the command, the page, the notebook."""
