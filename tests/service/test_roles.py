"""Every address, for every role: generated from the table of addresses."""

import pytest
from service.team import QUESTION

from discreet.service.analyst_pages import PAGES as ANALYST_PAGES
from discreet.service.application import ENDPOINTS
from discreet.service.steward_pages import PAGES as STEWARD_PAGES
from discreet.service.store import Promised, make_name

BODIES = {
    "/v1/datasets/{name}/prices": {"questions": [QUESTION]},
    "/v1/datasets/{name}/previews": {"what": "mode", "epsilon": "1", "persons": 10},
    "/v1/datasets/{name}/answers": QUESTION,
    "/v1/datasets/{name}/wishes": {"reason": "a paper"},
    "/v1/keys": {"name": "team-c"},
    "/v1/shares": {"dataset": "reads", "analyst": "team-c", "epsilon": "1"},
    "/v1/revocations": {"dataset": "reads", "analyst": "team-b", "reason": "left"},
    "/v1/datasets/{name}/extensions": {"epsilon": "9", "reason": "more rows"},
    "/v1/datasets/{name}/closings": {"reason": "the end"},
    "/v1/datasets/{name}/openings": {"reason": "looked"},
    "/v1/wishes/{id}/decisions": {"decision": "granted"},
}
MAY = {
    "anybody": {"team-a", "team-b", "nobody", "steward", "both"},
    "analyst": {"team-a", "team-b", "nobody", "both"},
    "steward": {"steward", "both"},
}


def call(team, endpoint, who, name="reads", number="1"):
    if endpoint.path == "/v1/answers/{number}":
        number = str(team.ask().json()["id"])
    if "{id}" in endpoint.path:
        store = team.service.store
        number = {
            "keys": lambda: team.keys["team-b"].split("_")[1],
            "wishes": lambda: store.add_wish("reads", "team-a", "because").id,
            "attempts": lambda: promised(store),
        }[endpoint.path.split("/")[2]]()
    path = endpoint.path.format(name=name, number=number, id=number)
    headers = {} if who is None else team.headers(who)
    options = {"json": BODIES[endpoint.path]} if endpoint.takes_body else {}
    return team.client.request(endpoint.method, path, headers=headers, **options)


def promised(store):
    """A question of team-a that nobody waits for."""
    name = make_name()
    made = Promised(dataset="reads", question="digest", key="key", holder="process")
    store.promises.add(name, "team-a", made)
    return name


@pytest.mark.parametrize(
    "who",
    [
        *("team-a", "nobody", "steward", None),
        # those are analysts and stewards too
        *(pytest.param(name, marks=pytest.mark.pairs) for name in ("team-b", "both")),
    ],
)
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_every_role_on_every_address(request, endpoint, who):
    # whoever has no share of the data set, or not this role, finds nothing, in the same bytes
    own = "{name}" not in endpoint.path or endpoint.role == "steward" or who != "nobody"
    if endpoint.path in ("/v1/answers/{number}", "/v1/attempts/{id}"):
        own = who in ("team-a", "both")
    let_in = who in MAY[endpoint.role] and own
    # what is looked for is made first, and what is let in may change something
    changes = "{id}" in endpoint.path or "{number}" in endpoint.path
    changes |= let_in and endpoint.method != "GET"
    team = request.getfixturevalue("team" if changes else "shared")
    reply = call(team, endpoint, who)
    nothing = team.get("/v1/nothing")
    if who is None:
        assert (reply.status_code, reply.json()["type"]) == (401, "/problems/key-needed")
        return
    if let_in:
        assert reply.status_code in endpoint.statuses, reply.text
    else:
        assert (reply.status_code, reply.content) == (404, nothing.content)


@pytest.mark.parametrize(
    "endpoint",
    [each for each in ENDPOINTS if "{name}" in each.path and each.role == "analyst"],
    ids=lambda each: f"{each.method} {each.path}",
)
def test_a_data_set_of_others_is_as_unknown(shared, endpoint):
    forbidden = call(shared, endpoint, "team-b", name="months")
    unknown = call(shared, endpoint, "team-b", name="nothing")
    climbing = call(shared, endpoint, "team-b", name="..%2Freads.csv")
    assert forbidden.status_code == 404
    assert forbidden.content == unknown.content == climbing.content


PAGES = [*ANALYST_PAGES, *STEWARD_PAGES]


def test_every_page_needs_somebody_who_is_signed_in(shared):
    for page in PAGES:
        path = page.path.format(name="reads", number="1")
        reply = shared.client.request(page.method, path, headers={"Accept": "text/html"})
        assert (reply.status_code, reply.headers["location"]) == (303, "/signin"), page


def test_a_slash_too_many_leads_nowhere(shared):
    """Behind a proxy that brings TLS, a redirect would send the key to http."""
    paths = {each.path.format(name="reads", number="1", id="1") for each in (*ENDPOINTS, *PAGES)}
    for path in sorted((paths | {"/signin", "/link/x", "/openapi.json"}) - {"/"}):
        for method in ("GET", "POST"):
            reply = shared.client.request(
                method, f"{path}/", headers=shared.headers("both") | {"Accept": "text/html"}
            )
            assert (reply.status_code, reply.headers.get("location")) == (404, None), path


def test_the_stewards_pages_are_nothing_to_analysts(shared):
    with shared.signed_in("team-a") as token:
        nothing = shared.page("/nothing").content
        for page in STEWARD_PAGES:
            path, form = page.path, {"token": token}
            reply = shared.send(path, form) if page.method == "POST" else shared.page(path)
            assert (reply.status_code, reply.content) == (404, nothing), page


@pytest.mark.parametrize(
    "wrong", ["no token", "another token", "another origin", "no origin", "another site"]
)
def test_a_form_from_elsewhere_is_refused(shared, wrong):
    with shared.signed_in("both") as token:
        form = {"no token": {}, "another token": {"token": "0" * 64}}.get(wrong, {"token": token})
        headers = {
            "another origin": {"Origin": "https://evil.example"},
            "no origin": {"Origin": "null"},
            "another site": {"Sec-Fetch-Site": "cross-site"},
        }.get(wrong, {})
        before = shared.service.ledger.anchor()
        for page in PAGES:
            if page.method == "POST":
                reply = shared.send(page.path.format(name="reads"), form, **headers)
                assert reply.status_code == 403, page
                assert (
                    "This form is too old, or comes from another page. Open it again." in reply.text
                )
                assert shared.service.ledger.anchor() == before


def test_a_key_that_is_not_one_gets_one_text(shared):
    none = shared.client.get("/v1/datasets").content
    texts = ("", "dsc_", "Bearer", "é", "x" * 5000, "dsc_'; DROP TABLE")
    for text in ("dsc_000000000000_" + "A" * 43, *texts):
        reply = shared.client.get(
            "/v1/datasets", headers={"Authorization": b"Bearer " + text.encode("utf-8")}
        )
        assert (reply.status_code, reply.content) == (401, none), text


def test_a_key_of_another_id_or_half_of_it_is_not_one(team):
    one, other = team.keys["team-a"], team.keys["steward"]
    mixed = "_".join([*one.split("_", 2)[:2], other.split("_", 2)[2]])
    for text in (mixed, one[:-1], one + "A", one.upper()):
        assert team.service.store.caller(text) is None
    assert team.service.store.caller(one).name == "team-a"


def test_an_unknown_key_takes_the_same_work(team, monkeypatch):
    from discreet.service import store

    compared = []
    real = store.hmac.compare_digest
    monkeypatch.setattr(
        store.hmac, "compare_digest", lambda one, two: compared.append(1) or real(one, two)
    )
    for text in (team.keys["team-a"], "dsc_000000000000_" + "A" * 43, ""):
        team.service.store.caller(text)
    assert len(compared) == 3


def test_keys_are_kept_as_hashes_end_and_expire(team):
    files = b"".join(path.read_bytes() for path in team.folder.glob("keys.db*"))
    for text in team.keys.values():
        assert text.split("_", 2)[2].encode() not in files
    made = team.post("/v1/keys", {"name": "team-c", "days": 1}, "steward").json()
    assert made["key"].startswith(f"dsc_{made['id']}_")
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert team.client.get("/v1/datasets", headers=headers).json() == {"datasets": []}
    cookie = team.service.store.use_key(made["key"])
    path = f"/v1/keys/{made['id']}"
    assert team.client.delete(path, headers=team.headers("steward")).status_code == 204
    assert team.client.get("/v1/datasets", headers=headers).status_code == 401
    assert team.service.store.signed_in(cookie) is None
    team.service.store._run("UPDATE discreet_keys SET expires = 1 WHERE name = 'team-b'")
    assert team.get("/v1/datasets", "team-b").status_code == 401


def test_a_link_works_once(team):
    secret = team.service.store.add_link("steward", "steward")
    looked = [team.client.get(f"/link/{secret}") for _ in range(2)]
    assert [reply.status_code for reply in looked] == [200, 200]
    first = team.client.post(f"/link/{secret}")
    team.client.cookies.clear()
    second = team.client.post(f"/link/{secret}")
    assert (first.status_code, second.status_code) == (303, 401)
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "set-cookie" not in second.headers
