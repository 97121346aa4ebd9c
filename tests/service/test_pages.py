"""The page without a browser: the journey, and text that wants to be markup."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from service.team import MANIFEST, QUESTION, Team

from discreet import ApproxDP, BoundedRange, Ledger, PureDP
from discreet.service.analyst_pages import _spending
from discreet.service.downloads import as_curl, as_python, harmless


def field(text, name):
    return html.unescape(re.search(rf'name="{name}" value="([^"]*)"', text)[1])


def ask_on_the_page(team, token, **form):
    """From the form over the price to the answer's address."""
    said = {"token": token, "what": "mode", "column": "article", "epsilon": "0.5", **form}
    price = team.send("/datasets/reads/price", said)
    assert price.status_code == 200, price.text
    asked = {name: field(price.text, name) for name in ("token", "attempt", "question")}
    return price, team.send("/datasets/reads/answers", asked)


def test_the_whole_journey(team):
    with team.signed_in("team-a") as token:
        assert "about <strong>20</strong> more questions" in team.page("/").text
        assert "made-up people" in team.page("/datasets/reads/plan").text
        assert "What would it cost?" in team.page("/datasets/reads").text
        price, reply = ask_on_the_page(team, token, **{"is.role": "nurse"})
        assert "Ask for epsilon 0.5" in price.text
        assert reply.status_code == 303
        answer = team.page(reply.headers["location"])
        assert "role: nurse" in answer.text
        again, repeated = ask_on_the_page(team, token, **{"is.role": "nurse"})
        assert "free" in again.text
        assert repeated.headers["location"] == reply.headers["location"]
        assert team.charges() == 1
        assert f'href="{reply.headers["location"]}"' in team.page("/history").text
        team.send("/datasets/reads/wishes", {"token": token, "reason": "<i>a paper</i>"})
        assert "&lt;i&gt;a paper&lt;/i&gt;" in team.page("/").text
    with team.signed_in("steward") as token:
        text = team.page("/steward").text
        assert "&lt;i&gt;a paper&lt;/i&gt;" in text
        wish = team.service.store.wishes()[0].id
        team.send("/steward/decisions", {"token": token, "id": wish, "decision": "granted"})
        more = {"dataset": "reads", "analyst": "team-a", "epsilon": "2.5", "reason": "granted"}
        assert team.send("/steward/extensions", {"token": token, **more}).status_code == 303
        key = team.send(
            "/steward/keys", {"token": token, "name": "team-c", "role": "analyst"} | {"days": "3"}
        )
        assert key.text.count("dsc_") == 1
        assert "dsc_" not in team.page("/steward").text
        share = {"dataset": "reads", "analyst": "team-c", "epsilon": "1"}
        assert team.send("/steward/shares", {"token": token, **share}).status_code == 303
        checked = team.send("/steward/verifications", {"token": token})
        assert "all intact" in checked.text
    assert team.service.ledger.account("reads", analyst="team-a").limit == 2.5
    with team.signed_in("team-a"):
        assert "granted" in team.page("/").text


def test_a_form_sent_twice_pays_once(team):
    with team.signed_in("team-a") as token:
        said = {"token": token, "what": "mode", "column": "article", "epsilon": "0.5"}
        price = team.send("/datasets/reads/price", said | {"fresh": "yes"})
        asked = {name: field(price.text, name) for name in ("token", "attempt", "question")}
        places = {team.send("/datasets/reads/answers", asked).headers["location"] for _ in "ab"}
        assert (len(places), team.charges()) == (1, 1)


@pytest.mark.parametrize(
    "form",
    [{"epsilon": "much"}, {"epsilon": "-1"}, {"epsilon": "1.5"}, {"mechanism": "oracle"}],
    ids=str,
)
def test_a_mistake_in_a_form_is_shown_beside_the_form(team, form):
    with team.signed_in("team-a") as token:
        said = {"token": token, "what": "mode", "column": "article", "epsilon": "0.5", **form}
        reply = team.send("/datasets/reads/price", said)
        assert reply.status_code in (403, 422)
        assert 'role="alert"' in reply.text
        assert "What would it cost?" in reply.text


def test_a_mistake_of_the_steward_is_shown_too(team):
    with team.signed_in("steward") as token:
        wrong = [
            ("/steward/shares", {"dataset": "reads", "analyst": "X", "epsilon": "1"}),
            ("/steward/shares", {"dataset": "reads", "analyst": "team-c", "epsilon": "0"}),
            ("/steward/extensions", {"dataset": "reads", "epsilon": "1", "reason": "less"}),
            ("/steward/extensions", {"dataset": "gone", "epsilon": "1", "reason": "more"}),
            ("/steward/keys", {"name": "x y", "role": "analyst", "days": "1"}),
            ("/steward/keys", {"name": "x", "role": "king", "days": "1"}),
            ("/steward/openings", {"dataset": "reads", "reason": ""}),
            ("/steward/decisions", {"id": "1", "decision": "perhaps"}),
        ]
        for path, form in wrong:
            reply = team.send(path, {"token": token, **form})
            assert reply.status_code in (404, 422), path
            assert 'role="alert"' in reply.text


def attributes(text):
    """The names of all attributes of all tags, as a browser reads them."""
    names = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, found: names.extend(name for name, _ in found)
    parser.feed(text)
    assert names
    return names


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_no_text_becomes_markup(tmp_path):
    """Titles, candidates, reasons and what somebody types, in every screen and picture."""
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    text = MANIFEST.replace("Reads <script>alert(1)</script>", quoted)
    text = text.replace('"ant", "bee", "cat", "=cmd', f'"{quoted}", "=cmd')
    team = Team(tmp_path, text)
    with team.signed_in("both") as token:
        _, reply = ask_on_the_page(team, token)
        team.send("/datasets/reads/wishes", {"token": token, "reason": HOSTILE})
        place = reply.headers["location"]
        typed = "/datasets/reads?what=mode&epsilon=%3Cscript%3E&column=%22%3E%3Cscript%3E"
        paths = ["/", "/datasets/reads", typed, "/datasets/reads/plan?k=%3Cscript%3E", place]
        paths += ["/history", "/steward", f"{place}.svg"]
        for path in paths:
            shown = team.page(path)
            assert shown.status_code in (200, 422), path
            assert "<script" not in shown.text, path
            assert "<img" not in shown.text, path
            assert [name for name in attributes(shown.text) if name.startswith("on")] == []
    team.service.close()


def test_no_label_becomes_a_formula(tmp_path):
    labels = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\\t=1", " =1+1", "plain"]
    listed = ", ".join(f'"{label}"' for label in labels)
    text = re.sub(r"candidates = \[.*\]", f"candidates = [{listed}]", MANIFEST, count=1)
    team = Team(tmp_path, text)
    with team.signed_in("team-a") as token:
        _, reply = ask_on_the_page(team, token, what="top_k", k="7")
        written = team.page(reply.headers["location"] + ".csv")
        rows = list(csv.reader(io.StringIO(written.text)))
    assert written.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in written.headers["content-disposition"]
    assert len(rows) == 8
    for _, label, *_ in rows[1:]:
        assert not label.lstrip().startswith(("=", "+", "-", "@"))
    assert harmless(-3) == "-3"
    team.service.close()


def test_signing_in_and_out(team):
    wrong = team.send("/signin", {"key": "dsc_no"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    right = team.send("/signin", {"key": team.keys["team-a"]})
    assert right.status_code == 303
    assert team.page("/").status_code == 200
    cookie = team.client.cookies["discreet"]
    from discreet.service.keys import form_token

    assert team.send("/signout", {"token": form_token(cookie)}).status_code == 303
    team.client.cookies.set("discreet", cookie)
    assert team.page("/").status_code == 303


def test_a_program_that_previews_a_link_does_not_use_it_up(team):
    address = f"/link/{team.service.store.add_link('steward', 'steward')}"
    for method in ("HEAD", "GET"):
        seen = team.client.request(method, address)
        assert (seen.status_code, "set-cookie" in seen.headers) == (200, False)
    assert team.send(address, {}).status_code == 303
    assert team.client.head("/signin").status_code == 200


def test_the_api_does_not_take_a_cookie(team):
    with team.signed_in("team-a"):
        assert team.client.post("/v1/datasets/reads/answers", json=QUESTION).status_code == 401


def test_nothing_on_a_page_needs_a_script_or_another_host(team):
    with team.signed_in("both"):
        for path in ("/", "/datasets/reads", "/datasets/reads/plan", "/history", "/steward"):
            text = team.page(path).text
            assert "<script" not in text
            assert re.findall(r'(?:src|href|action)="(?!/|#|\?)', text) == []
            assert "style=" not in text


def test_behind_a_proxy_the_words_to_copy_have_its_address(team):
    """Whether the proxy says how it was reached or not: its word is not believed."""
    number = team.ask().json()["id"]
    team.service.settings = replace(team.service.settings, secure=True)
    with team.signed_in("team-a"):
        text = team.page(f"/answers/{number}").text
    assert "https://localhost" in text
    assert "http://localhost" not in text


def test_the_page_counts_in_questions_like_the_last_and_says_when_one_was_asked(team):
    form = {"what": "mode", "column": "article", "epsilon": "0.5"}
    with team.signed_in("team-a") as token:
        assert "more questions of epsilon 0.1." in team.page("/").text
        day = team.ask().json()["time"][:10]
        assert "about <strong>3</strong> more questions of epsilon 0.5, like" in team.page("/").text
        price = team.send("/datasets/reads/price", form | {"token": token})
    assert f"You asked this on {day}: the same answer is free." in price.text


def checked(text):
    return re.findall(r'name="(is\.[^"]*)" value="([^"]*)" checked', text)


def test_a_form_that_is_refused_or_changed_keeps_what_was_typed(team):
    """Else the next question would be about everybody, and not about nurses."""
    with team.signed_in("team-a") as token:
        said = {"token": token, "what": "mode", "column": "article", "is.role": "nurse"}
        refused = team.send("/datasets/reads/price", said | {"epsilon": "much", "fresh": "yes"})
        assert refused.status_code == 422
        assert checked(refused.text) == [("is.role", "nurse")]
        assert 'name="fresh" value="yes" checked' in refused.text
        assert 'value="much"' in refused.text
        price = team.send("/datasets/reads/price", said | {"epsilon": "0.25"})
        again = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', price.text))
        changed = team.send("/datasets/reads/price", again | {"change": "yes"})
        assert (changed.status_code, checked(changed.text)) == (200, [("is.role", "nurse")])
        assert 'value="0.25"' in changed.text
        assert team.charges() == 0


def test_one_value_has_no_rank_and_what_was_paid_for_is_shown(team):
    with team.signed_in("team-a") as token:
        _, reply = ask_on_the_page(team, token, with_counts="yes")
        text = team.page(reply.headers["location"]).text
        assert re.search(r'<p class="value">.* <span class="hint">about -?\d+, off by at', text)
        assert "<ol" not in text
        assert "epsilon 0.5</dd>" in text
        assert "about 3 more questions like this" in text
        _, reply = ask_on_the_page(team, token, with_gap="yes")
        assert "Ahead by" in team.page(reply.headers["location"]).text
        said = {"what": "count", "column": "", "epsilon": "0.25"}
        _, reply = ask_on_the_page(team, token, **said)
        assert re.search(r'<p class="value">-?\d+</p>', team.page(reply.headers["location"]).text)
        assert "<td>count</td><td>epsilon 0.25</td>" in team.page("/history").text
        grid = {"column": "pay", "q": "0.25, 3/4", "bounds": "0, 300", "step": "1", "rule": "max"}
        _, reply = ask_on_the_page(team, token, what="quantiles", **grid | {"epsilon": "0.25"})
        text = team.page(reply.headers["location"]).text
        assert re.findall(r'<li><span class="hint">([0-9.]+)</span> \d+</li>', text) == [
            "0.25",
            "0.75",
        ]


@pytest.mark.parametrize("name", ["k", "persons", "items_per_person"])
def test_a_plan_with_what_is_no_number_is_refused_in_words(shared, name):
    with shared.signed_in("team-a"):
        for text in ("\N{SUPERSCRIPT TWO}", "9" * 5000, "-1", "x"):
            page = shared.page(f"/datasets/reads/plan?{name}={text}")
            assert (page.status_code, "must be" in page.text) == (422, True), text


def test_what_is_there_to_copy_can_be_asked(tmp_path):
    team = Team(tmp_path, MANIFEST.replace("candidates = [", 'split = "|"\ncandidates = [', 1))
    answer = team.ask().json()
    (words,) = re.findall(r"-d '(.*)'", as_curl(answer, "http://localhost"))
    assert team.ask(json.loads(words)).headers["Discreet-Replayed"] == "true"
    assert "mode('article', epsilon='0.5')" in as_python(answer, "http://localhost")
    team.service.close()


def test_shares_that_add_up_to_more_are_named(team):
    with team.signed_in("steward"):
        said = "The shares of reads add up to epsilon 4, but it has only 3."
        assert said in team.page("/steward").text
        assert "The shares of months" not in team.page("/steward").text
    assert team.get("/v1/shares", "steward").json()["overbooked"] == [said]


def test_analysts_see_why_a_budget_was_raised(team):
    for analyst, reason in (("team-a", "a <b>paper</b>"), ("team-b", "mine"), (None, "for all")):
        more = {"epsilon": "6", "reason": reason} | ({"analyst": analyst} if analyst else {})
        path = "/v1/datasets/reads/extensions"
        assert team.post(path, more, "steward").status_code == 201
    with team.signed_in("team-a"):
        text = team.page("/").text
    assert "a &lt;b&gt;paper&lt;/b&gt;" in text
    assert "for all" in text
    assert "mine" not in text
    raised = team.get("/v1/datasets/reads/budget").json()["raised"]
    assert {(each["whose"], each["reason"]) for each in raised} == {
        ("yours", "a <b>paper</b>"),
        ("all", "for all"),
    }
    assert team.get("/v1/datasets/months/budget").json()["raised"] == []


HIDING = "ab\u202e\x1b[8m\u200bcd"


def test_no_text_hides_or_reorders_what_is_beside_it(tmp_path):
    written = HIDING.replace("\x1b", "\\u001b")
    manifest = MANIFEST.replace("Reads <script>alert(1)</script>", written)
    manifest = manifest.replace('as_of = "2026-11-01"', f'as_of = "{written}"')
    manifest = manifest.replace('filter = ["nurse",', f'filter = ["{written}",')
    team = Team(tmp_path, manifest)
    with team.signed_in("team-a") as token:
        for said in (HIDING, f"{HIDING} again"):
            team.send("/datasets/reads/wishes", {"token": token, "reason": said})
        team.service.store.add_extension("reads", None, HIDING)
        _, reply = ask_on_the_page(team, token, **{"is.role": HIDING})
        pages = [team.page(path).text for path in ("/", "/datasets/reads", "/history")]
        pages.append(team.page(reply.headers["location"]).text)
        # what comes back with the form is as it was
        assert f'value="{HIDING}"' in pages[1]
    assert team.service.ledger.history()[0].request["asked"]["where"][0]["is"] == [HIDING]
    with team.signed_in("steward"):
        pages.append(team.page("/steward").text)
    for text in pages:
        shown = re.sub(r'value="[^"]*"', "", text)
        assert "ab\ufffd\ufffd[8m\ufffdcd" in shown
        assert not set(HIDING) - set("abcd[8m") & set(shown)
    team.service.close()


def test_a_cookie_of_another_site_of_the_same_domain_signs_nobody_in(team):
    """Such a site can set a cookie for all of them, but none whose name begins with __Host-."""
    team.service.settings = replace(team.service.settings, secure=True)
    mine = {"key": team.keys["team-a"]}
    line = team.send("/signin", mine).headers["set-cookie"]
    assert line.startswith("__Host-discreet=")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Secure"} == set(line.split("; ")[1:])
    planted = team.service.store.use_key(team.keys["team-b"])
    team.client.cookies.clear()
    for name, status in (("discreet", 303), ("__Host-discreet", 200)):
        reply = team.client.get("/history", headers={"Cookie": f"{name}={planted}"})
        assert reply.status_code == status


def test_the_history_stays_above_its_axis_when_a_share_counts_epsilon_again(tmp_path):
    """Once the coins of a share are gone, its earlier charges are steps of epsilon, too."""
    with Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("reads", budget=ApproxDP(4, 1e-6))
        ledger.open("reads", analyst="team-a", budget=ApproxDP(1, 1e-6))
        for place, loss in enumerate([BoundedRange(0.2), PureDP(0.2), PureDP(0.2), PureDP(0.3)]):
            ledger.reserve("reads", loss, request={"n": place}, analyst="team-a")
        account = ledger.account("reads", analyst="team-a")
        assert account.limit == 1
        assert account.spent.unit == "epsilon"
        published = SimpleNamespace(
            manifest=SimpleNamespace(datasets={"reads": SimpleNamespace(title="", window=None)}),
            account=lambda name, analyst: account,
        )
        figure = _spending(SimpleNamespace(published=published, ledger=ledger), "reads", "team-a")
    heights = [float(y) for y in re.findall(r"V ([-0-9.]+)", figure["figure"])]
    # 140 dots are the limit of 1, above the axis at 170
    assert heights == [170 - 140 * spent for spent in (0.2, 0.4, 0.6, 0.9)]
