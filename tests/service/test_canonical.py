"""Two spellings of one question have one digest; any change of meaning has another."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service.team import MANIFEST, write

from discreet.service.canonical import read_question
from discreet.service.manifest import Manifest
from discreet.service.problems import RefusedError


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canonical")
    write(folder)
    return Manifest.load(folder / "discreet.toml").datasets["reads"]


BASE = {
    "what": "top_k",
    "column": "article",
    "k": 2,
    "epsilon": "0.1",
    "where": [
        {"column": "role", "is": ["pilot", "nurse"]},
        {"column": "pay", "at_least": "1.50", "below": "20"},
    ],
}

EDGES = ({"at_least": "1.5"}, {"at_least": "-1"}, {"below": "20"})

SAME = [
    {"epsilon": "1/10"},
    {"epsilon": "0.10"},
    {"epsilon": "1e-1"},
    {"where": BASE["where"][::-1]},
    {"where": [*BASE["where"], BASE["where"][0]]},
    {"where": [{"column": "role", "is": ["nurse", "pilot", "nurse"]}, BASE["where"][1]]},
    {"where": [BASE["where"][0], {"column": "pay", "at_least": "3/2", "below": 20}]},
    {"where": [BASE["where"][0], *({"column": "pay", **each} for each in EDGES)]},
    {"where": [*BASE["where"], {"column": "pay", "below": "30"}]},
    {"delta": "0"},
    {"method": "auto"},
    {"limit": None},
    {"fresh": False},
]
OTHER = [
    {"epsilon": "0.11"},
    {"k": 3},
    {"what": "mode", "k": ...},
    {"where": []},
    {"where": BASE["where"][:1]},
    {"where": [{"column": "role", "is": ["pilot"]}, BASE["where"][1]]},
    {"where": [BASE["where"][0], {"column": "pay", "at_least": "1.5"}]},
    {"method": "joint"},
    {"limit": 20, "delta": "1e-6"},
]


def with_change(change):
    return {name: value for name, value in (BASE | change).items() if value is not ...}


@pytest.mark.parametrize("change", SAME, ids=str)
def test_another_spelling_is_the_same_question(dataset, change):
    one, other = (read_question("reads", dataset, body) for body in (BASE, with_change(change)))
    assert one.digest == other.digest
    assert one.options["epsilon"] == other.options["epsilon"]


@pytest.mark.parametrize("change", OTHER, ids=str)
def test_another_meaning_is_another_question(dataset, change):
    one, other = (read_question("reads", dataset, body) for body in (BASE, with_change(change)))
    assert one.digest != other.digest


def where_of(dataset, *conditions, column="role"):
    where = [{"column": column, **each} for each in conditions]
    return read_question("reads", dataset, BASE | {"where": where}).form["where"]


def test_conditions_on_one_column_become_one(dataset):
    both, one = {"is": ["nurse", "pilot"]}, {"is": ["pilot"]}
    assert where_of(dataset, both, one) == where_of(dataset, one)
    # nobody is both: what says so stays as it is
    assert len(where_of(dataset, {"is": ["nurse"]}, one)) == 2
    mixed = ({"at_least": "1"}, {"below": "2026-01-01"})
    assert len(where_of(dataset, *mixed, column="pay")) == 2


def test_one_and_true_are_two_values(dataset):
    columns = dict(dataset.column)
    columns["role"] = columns["role"].model_copy(update={"filter": [True, 1, 2]})
    numbers = dataset.model_copy(update={"column": columns})
    # before, the first of the two was asked for, and the other one forgotten
    for values in ([1, True], [True, 1]):
        with pytest.raises(RefusedError, match="invalid") as error:
            where_of(numbers, {"is": values})
        assert error.value.problem.more["errors"][0]["pointer"] == "/where"
    assert where_of(numbers, {"is": [2, 1]}, {"is": [2]}) == [{"column": "role", "is": [2]}]
    one, true = (json.dumps(where_of(numbers, {"is": [each]})) for each in (1, True))
    assert one != true


def test_a_number_that_no_float_holds_is_a_public_mistake(dataset):
    with pytest.raises(RefusedError, match="invalid") as error:
        where_of(dataset, {"below": "1e400"}, column="pay")
    assert error.value.problem.more["errors"][0]["pointer"] == "/where"


@pytest.mark.parametrize("text", ["\ud800", "a\x00b"])
def test_what_no_engine_can_hold_is_a_public_mistake(dataset, text):
    columns = dict(dataset.column)
    columns["role"] = columns["role"].model_copy(update={"filter": "any"})
    anything = dataset.model_copy(update={"column": columns})
    with pytest.raises(RefusedError, match="invalid") as error:
        where_of(anything, {"is": [text]})
    assert error.value.problem.more["errors"][0]["pointer"] == "/where"


def test_how_a_cell_is_split_belongs_to_the_question(dataset):
    columns = dict(dataset.column)
    columns["article"] = columns["article"].model_copy(update={"split": ";"})
    lists = dataset.model_copy(update={"column": columns})
    one, other = (read_question("reads", each, BASE) for each in (dataset, lists))
    assert one.digest != other.digest
    assert one.family != other.family


def test_the_version_and_the_candidates_belong_to_the_question(dataset):
    later = dataset.model_copy(update={"as_of": "2026-12-01"})
    columns = dict(dataset.column)
    columns["article"] = columns["article"].model_copy()
    columns["article"]._labels = ("ant", "bee")
    shorter = dataset.model_copy(update={"column": columns})
    digests = {read_question("reads", each, BASE).digest for each in (dataset, later, shorter)}
    assert len(digests) == 3


@given(st.fractions(min_value="1/1000", max_value=8), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_every_spelling_of_a_number_is_one_number(dataset, epsilon, zeros):
    plain = BASE | {"epsilon": f"{epsilon.numerator}/{epsilon.denominator}"}
    scaled = BASE | {
        "epsilon": f"{epsilon.numerator * 10**zeros}/{epsilon.denominator * 10**zeros}"
    }
    one, other = (read_question("reads", dataset, body) for body in (plain, scaled))
    assert one.digest == other.digest


REFUSED = [
    ({"what": "dump"}, "/what"),
    ({"what": ["mode"]}, "/what"),
    ({"column": "reader"}, "/column"),
    ({"column": "nothing"}, "/column"),
    ({"column": "../reads.csv"}, "/column"),
    ({"column": "role"}, "/column"),
    ({"epsilon": "nan"}, "/epsilon"),
    ({"epsilon": "inf"}, "/epsilon"),
    ({"epsilon": "1e999999999"}, "/epsilon"),
    ({"epsilon": "1/0"}, "/epsilon"),
    ({"epsilon": True}, "/epsilon"),
    ({"epsilon": None}, "/epsilon"),
    ({"k": "3"}, "/k"),
    ({"k": True}, "/k"),
    ({"k": 10_001}, "/k"),
    ({"limit": 1_000_001}, "/limit"),
    ({"method": "guess"}, "/method"),
    ({"candidates": ["x"]}, "/candidates"),
    ({"bits": 1}, ""),
    ({"split": ";"}, "/split"),
    ({"where": [{"column": "reader", "is": ["x"]}]}, "/where/0/column"),
    ({"where": [{"column": "role", "is": ["nurse' or 1=1 --"]}]}, "/where/0/is"),
    ({"where": [{"column": "role", "at_least": "1"}]}, "/where/0"),
    ({"where": [{"column": "pay", "is": ["1"]}]}, "/where/0"),
    ({"where": [{"column": "pay"}]}, "/where/0"),
    ({"where": [{"column": "pay", "at_least": "1", "below": "2026-01-01"}]}, "/where/0"),
    ({"where": "role = 'nurse'"}, "/where"),
    ({"windows": ["2026-09"]}, "/windows"),
]


@pytest.mark.parametrize(("change", "pointer"), REFUSED, ids=str)
def test_a_public_mistake_is_refused_with_its_place_and_without_the_value(dataset, change, pointer):
    with pytest.raises(RefusedError, match="invalid") as error:
        read_question("reads", dataset, BASE | change)
    problem = error.value.problem
    assert (problem.status, problem.more["errors"][0]["pointer"]) == (422, pointer)
    assert "1=1" not in problem.body().decode()


def test_a_column_that_is_unknown_and_one_that_may_not_be_filtered_are_refused_alike(dataset):
    said = []
    for column in ("article", "nothing", "reader"):
        with pytest.raises(RefusedError, match="invalid") as error:
            read_question("reads", dataset, BASE | {"where": [{"column": column, "is": ["x"]}]})
        said.append(error.value.problem.body())
    assert len(set(said)) == 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"column": "nothing"}, "one of article"),
        ({"where": [{"column": "nothing", "is": ["x"]}]}, "one of pay, role"),
        ({"where": [{"column": "role", "is": ["nurs"]}]}, 'one of "nurse", "pilot"'),
    ],
    ids=["column", "filter", "value"],
)
def test_a_refusal_lists_the_names_that_the_data_set_declares(dataset, change, rule):
    with pytest.raises(RefusedError) as error:
        read_question("reads", dataset, BASE | change)
    assert error.value.problem.more["errors"][0]["rule"] == rule


def test_many_names_are_not_listed(dataset):
    values = [f"role {number}" for number in range(21)]
    many = dataset.column | {"role": dataset.column["role"].model_copy(update={"filter": values})}
    body = BASE | {"where": [{"column": "role", "is": ["x"]}]}
    with pytest.raises(RefusedError) as error:
        read_question("reads", dataset.model_copy(update={"column": many}), body)
    rule = error.value.problem.more["errors"][0]["rule"]
    assert rule == "values that the data set declares for this column"


def test_text_of_any_kind_has_to_be_text(dataset):
    loose = dataset.column | {"role": dataset.column["role"].model_copy(update={"filter": "any"})}
    body = BASE | {"where": [{"column": "role", "is": ["x", 3]}]}
    with pytest.raises(RefusedError) as error:
        read_question("reads", dataset.model_copy(update={"column": loose}), body)
    assert error.value.problem.more["errors"][0]["rule"] == "text"


def test_a_list_may_be_as_long_as_the_manifest_says(tmp_path):
    words = "largest_k = 3\nlargest_limit = 5\nreply_after"
    write(tmp_path, MANIFEST.replace("reply_after", words, 1))
    dataset = Manifest.load(tmp_path / "discreet.toml").datasets["reads"]
    read_question("reads", dataset, BASE | {"k": 3, "limit": 5})
    for change in ({"k": 4}, {"limit": 6}):
        with pytest.raises(RefusedError) as error:
            read_question("reads", dataset, BASE | change)
        ((name, value),) = change.items()
        found = error.value.problem.more["errors"][0]
        assert found == {"pointer": f"/{name}", "rule": f"at most {value - 1}"}
