"""What a GPU's hardware counts of a program's launches, by Nsight Compute (ncu)."""

import csv
import subprocess
from collections import Counter


def counted(command, counters):
    """The counters of each launch of a command, in the order of launches: name -> number. SystemExit where the command
    or ncu fails."""
    words = ["ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(counters), *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = of_launches(done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"ncu counted {len(found)} launches:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def of_launches(text):
    """The counters of each launch in what ncu prints, between lines of its own and of the program."""
    launches = {}
    for row in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        launches.setdefault(int(row["ID"]), Counter())[row["Metric Name"]] += int(row["Metric Value"].replace(",", ""))
    return [found for _id, found in sorted(launches.items())]
