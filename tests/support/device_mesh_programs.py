"""Random programs over torch's DeviceMesh, and what each of their steps gives:
`python device_mesh_programs.py SEED COUNT [exchanged]`."""

import random
import sys

if __name__ == "__main__":  # doctests are looked for in every file: read so, it needs no torch
    if sys.argv[3:] == ["exchanged"]:
        from tla.compat import torch as lexicographic

        sys.modules["torch.distributed._pycute"] = lexicographic

    from torch.distributed import _mesh_layout, init_process_group
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS = 24
FACTORS = [
    (24,),
    (2, 12),
    (4, 6),
    (3, 8),
    (2, 3, 4),
    (4, 3, 2),
    (2, 2, 6),
    (2, 2, 2, 3),
    (3, 2, 2, 2),
    (1, 24),
    (2, 1, 12),
]


def shown(make):
    """What a step gives, and the mesh to go on with; of a refusal that it is one."""
    try:
        mesh = make()
    except (AssertionError, ValueError, RuntimeError, KeyError, NotImplementedError):
        return "refused", None
    layout = mesh._layout
    ranks = [axis.all_ranks_from_zero() for axis in layout]
    rest = [axis.complement(RANKS).all_ranks_from_zero() for axis in layout]
    return (
        f"{mesh.mesh.tolist()} {mesh.mesh_dim_names} {mesh.get_coordinate()} {ranks} {rest} {layout.collapse()} "
        f"{layout.cosize()}",
        mesh,
    )


def steps(rng, mesh):
    """One step of a program."""
    names = list(mesh.mesh_dim_names)
    fresh = f"n{rng.randrange(10**6)}"
    some = tuple(rng.sample(names, rng.randint(1, len(names))))
    kind = rng.choice(["slice", "flatten", "unflatten", "concatenate"])
    if kind == "slice":
        return kind, lambda: mesh[tuple(sorted(some, key=names.index)) if rng.random() < 0.8 else some]
    if kind == "flatten":
        return kind, lambda: mesh[tuple(sorted(some, key=names.index))]._flatten(fresh)
    if kind == "unflatten":
        at = rng.randrange(len(names))
        size = mesh.size(at)
        first = rng.choice([n for n in range(1, size + 1) if size % n == 0] + [2])
        return kind, lambda: mesh._unflatten(at, (first, max(1, size // first)), (fresh, fresh + "b"))
    return kind, lambda: DeviceMesh._concatenate([mesh[name] for name in some])


def main(seed, count):
    init_process_group("fake", rank=5, world_size=RANKS, store=FakeStore())
    rng = random.Random(seed)
    for _ in range(count):
        shape = rng.choice(FACTORS)
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=tuple("abcd"[: len(shape)]))
        print(shape, shown(lambda mesh=mesh: mesh)[0])
        for _ in range(4):
            kind, make = steps(rng, mesh)
            text, found = shown(make)
            print(kind, text)
            mesh = found if found is not None and found.mesh_dim_names and rng.random() < 0.5 else mesh
    print(_mesh_layout.composition.__module__)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
