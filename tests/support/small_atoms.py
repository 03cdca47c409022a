"""MMA atoms, one of each map."""

from tla.gpu import MMAAtom, atoms

#: Atoms that differ in their types alone have the same fragments: the first of each.
MATRIX = {}
for found in atoms(kind=MMAAtom):
    key = (
        found.shape_mnk,
        found.A,
        found.B,
        found.C,
        found.E,
        found.SFA,
        found.SFB,
        found.sf_vec,
        found.sparsity,
        found.blocks,
    )
    MATRIX.setdefault(str(key), found)
SMALL = [a for a in MATRIX.values() if a.shape_mnk[1] in (1, 2, 4, 8, 16, 32, 104) or a.arch not in ("sm90",)]
