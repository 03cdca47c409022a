"""Where the tests' data lie, and the folders of the project that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
GOLDEN = ROOT / "tests" / "golden"
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
