"""Symbolic integers: sizes with facts, proofs, and expressions in their simplest form.

    syms        SymInt, and what declares them: dim, dims, index
    conditions  Condition, prove, assuming
    poly        the normal form;  rules, what makes it;  proofs, how small and how large
    forms       the cheapest way to write it;  tree, text, what that prints as
    nodes       to and from sympy, loaded when it is asked for
"""
