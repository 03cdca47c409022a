"""The syntax of Python files, parsed once for all tests that look at them."""

import ast
import functools

parsed = functools.cache(ast.parse)


@functools.cache
def nodes(source):
    """All nodes of a text, in the order of ast.walk."""
    return (*ast.walk(parsed(source)),)
