"""A census of a folder of HLO dumps: on one machine, or over a cluster with Dask, by the same two functions.

python examples/hlo_fleet.py FOLDER            # one process a core
python examples/hlo_fleet.py FOLDER --dask     # a LocalCluster of Dask; needs the extra dask
"""

import sys
from pathlib import Path

from tla import xla


def over_dask(files):
    """The same census with Dask: `census` runs where the workers are, `merge` adds the results up."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        parts = client.map(xla.census, files)
        return client.submit(xla.merge, parts).result()


def main(folder, dask=False):
    folder = Path(folder)
    files = [str(path) for path in sorted(folder.rglob("*.txt*"))]
    found = over_dask(files) if dask else xla.census(folder, workers=None)
    print(f"{found.programs} programs, {len(found.shapes)} shapes, {len(found.refused)} refused")
    for text, (count, size, waste) in sorted(found.shapes.items(), key=lambda x: -x[1][2])[:5]:
        print(f"{waste:>14,} of {size:>14,} bytes wasted by {count} x {text}")
    return found


if __name__ == "__main__":
    here = Path(__file__).parent.parent / "tests/data/hlo"
    arguments = [a for a in sys.argv[1:] if a != "--dask"]
    main(arguments[0] if arguments else here, "--dask" in sys.argv)
