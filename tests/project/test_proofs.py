"""The Coq files: every main theorem is closed under the global context, and the checker that is extracted from them
says what tla/algebra/checker.py says. Both need coqc (Debian: coq), and say so where it is missing."""

import random
import shutil
import subprocess

import pytest

from tla.algebra import checker

from certificates import ORDER, damaged, line, random_certificate
from night import amount
from places import ROOT

PROOFS = ROOT / "tests" / "proofs"
#: In the order in which they stand on each other.
FILES = "Layout Composition Complement Inverse Divide Swizzle Tiling Certificate Axioms Extract".split()


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the compiled files, and what Axioms.v prints."""
    if shutil.which("coqc") is None:
        pytest.skip("needs coqc: apt-get install coq")
    folder = tmp_path_factory.mktemp("proofs")
    for name in FILES:
        shutil.copy(PROOFS / f"{name}.v", folder)
    printed = {name: run("coqc", "-Q", ".", "Tla", f"{name}.v", cwd=folder) for name in FILES}
    return folder, printed["Axioms"]


def test_every_theorem_is_closed(compiled):
    asked = (PROOFS / "Axioms.v").read_text().count("Print Assumptions")
    assert compiled[1].splitlines() == ["Closed under the global context"] * asked
    assert asked >= 20


def test_nothing_is_admitted():
    for name in FILES:
        text = (PROOFS / f"{name}.v").read_text()
        assert not any(word in text for word in ("Admitted", "admit.", "Axiom ", "Parameter ", "Hypothesis ")), name


@pytest.fixture(scope="module")
def extracted(compiled):
    """The extracted checker: certificates as lines in, True or False for each out."""
    if shutil.which("ocamlfind") is None:
        pytest.skip("needs OCaml: apt-get install ocaml-nox ocaml-findlib")
    folder, _printed = compiled
    shutil.copy(PROOFS / "main.ml", folder)
    run("ocamlfind", "ocamlopt", "-o", "checker", "checker.mli", "checker.ml", "main.ml", cwd=folder)
    return lambda given: [x == "T" for x in run(folder / "checker", input="\n".join(map(line, given)) + "\n").split()]


def test_both_checkers_say_the_same(extracted):
    rng = random.Random(5)
    right = [random_certificate(rng) for _ in range(amount(600, 20_000))]
    wrong = [bad for good in right for bad in damaged(rng, good)]
    given = right + wrong
    assert {c["of"] for c in given} == {*ORDER}
    ours = [checker.check(c) is None for c in given]
    assert ours == extracted(given)
    assert all(ours[: len(right)])
    assert sum(ours[len(right) :]) < len(wrong) / 4  # some faults make another certificate that is right
