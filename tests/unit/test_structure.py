"""What stands in the source: where it sorts, and how large it is."""

import ast
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent

HASTY = {
    "partition",
    "argpartition",
    "sort",
    "argsort",
    "lexsort",
    "unique",
    "msort",
    "sort_complex",
}
"""What stops early on some values. (Strings have a `partition`, too, with an argument that is
text.)
"""

ALLOWED = {
    # guarded, so that it can never stop early
    ("samplers/order_statistics.py", "argsort"),
    # exact probabilities, which are as private as the scores, and estimates from reports,
    # which are public
    ("mechanisms/joint_top_k.py", "sort"),
    ("mechanisms/joint_top_k.py", "unique"),
    ("mechanisms/probabilities.py", "unique"),
    # of an engine: the different items of one row, in a cell that is a list
    ("tables/items.py", "unique"),
    # sensitivities are public
    ("mechanisms/generalized_exponential.py", "unique"),
    # noisy counts of the whole histogram, which together are within its loss
    ("mechanisms/histogram_top_k.py", "lexsort"),
    # noise before it meets a count
    ("randomness/bulk_draws.py", "argsort"),
    ("randomness/bulk_draws.py", "unique"),
    # what an auditor has drawn
    ("auditing/black_box.py", "sort"),
    # at most 128 eigenvalues, and the few envelopes that are made of them;
    # docs/explanation/limitations.md says what time tells there
    ("samplers/subspace_proposal.py", "sort"),
    ("samplers/subspace_proposal.py", "sort"),
    ("samplers/subspace.py", "argsort"),
    # made-up data, and what an auditor has drawn
    ("planning.py", "sort"),
    ("auditing/claims.py", "argsort"),
    ("auditing/event_search.py", "unique"),
    ("auditing/timing.py", "unique"),
}


def hasty_calls():
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        # most files have none, and need no syntax tree
        if not any(f".{name}(" in source for name in HASTY):
            continue
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in HASTY
            ):
                text = (
                    node.args
                    and isinstance(node.args[0], ast.Constant)
                    and isinstance(node.args[0].value, (str, bytes))
                )
                engine = any(
                    isinstance(word.value, ast.List) and word.arg == "descending"
                    for word in node.keywords
                )
                if not text and not engine:
                    yield path.relative_to(SOURCE).as_posix(), node.func.attr


def test_nothing_that_stops_early_sorts_or_partitions_scores():
    """A sort or partition of NumPy tells by its time whether all values are equal:
    `samplers/order_statistics.py` does not.
    """
    assert set(hasty_calls()) == ALLOWED
