"""The page in Debian's chromium: with and without JavaScript, wide and narrow, by keyboard."""

from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")

from browser.running import CHROMIUM, served  # noqa: E402
from browser.screens import journey  # noqa: E402

pytestmark = pytest.mark.browser

AXE = ".venv/axe/package/axe.min.js"
"""From the npm package axe-core: see the target `browser`."""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


LOOKS = {
    "wide": {"viewport": {"width": 1400, "height": 900}},
    "dark": {"viewport": {"width": 900, "height": 700}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    "without JavaScript": {"java_script_enabled": False},
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_journey(browser, look):
    with served("serve", "--demo") as (_, link):
        page = browser.new_context(**LOOKS[look]).new_page()
        said, wide, nameless, screens = [], [], [], []
        page.on("console", lambda message: said.append(message.text))

        def shot(name):
            screens.append(name)
            if LOOKS[look].get("java_script_enabled", True):
                # nothing is wider than the window; every field and picture has a name
                wide.append(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
                nameless.extend(page.evaluate(NAMELESS))

        journey(page, link, shot)
        assert len(screens) == 7
        # a violation of the content security policy would be said here
        assert said == []
        assert [extra for extra in wide if extra > 0] == []
        assert nameless == []


@pytest.mark.parametrize("look", ["wide", "dark", "narrow"])
def test_axe_finds_nothing_serious(browser, look):
    """By the rules of axe-core, on every screen of the walk."""
    source = (Path(__file__).parents[2] / AXE).read_text(encoding="utf-8")
    found = []
    with served("serve", "--demo") as (_, link):
        page = browser.new_context(**LOOKS[look]).new_page()

        def shot(name):
            # evaluated by the browser's own tools, which the page's policy does not bind
            page.evaluate(source)
            result = page.evaluate("axe.run({resultTypes: ['violations']})")
            assert result["testEngine"]["name"] == "axe-core"
            for rule in result["violations"]:
                if rule["impact"] in ("serious", "critical"):
                    found.append((name, rule["id"], rule["nodes"][0]["html"]))

        journey(page, link, shot)
    assert found == []


NAMELESS = """() => [...document.querySelectorAll(
    'input:not([type=hidden]), select, textarea, svg, button')]
    .filter(each => !(each.labels?.length || each.getAttribute('aria-label') ||
        each.textContent.trim()))
    .map(each => each.outerHTML)"""


def test_the_keyboard_is_enough(browser):
    with served("serve", "--demo") as (address, link):
        page = browser.new_context().new_page()

        def press(name, most=60):
            """Walk to the control of this name, and press it."""
            for _ in range(most):
                page.keyboard.press("Tab")
                focused = page.evaluate("document.activeElement.textContent.trim()")
                if focused == name:
                    with page.expect_navigation():
                        page.keyboard.press("Enter")
                    return
            raise AssertionError(f"no way to {name!r} by keyboard")

        page.goto(link)
        press("Sign in")
        press("Ask")
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.name") == "epsilon":
                page.keyboard.type("0.5")
                break
        press("What would it cost?")
        press("Ask for epsilon 0.5")
        page.wait_for_url(f"{address}/answers/*")
        assert page.locator("p.value").count() == 1


def test_exploring_a_file_of_ones_own(browser, tmp_path):
    rows = ["reader,article,minutes"] + [f"r{number},ant,{number}" for number in range(200)]
    (tmp_path / "reads.csv").write_text("\n".join(rows) + "\n")
    options = ["--person", "reader", "--epsilon", "3", "--delta", "1e-6", "--no-browser"]
    with served("explore", "reads.csv", *options, cwd=tmp_path) as (_, link):
        page = browser.new_context().new_page()
        page.goto(link)
        page.click("main form button")
        page.click("main >> text=Ask")
        page.click("nav.tabs >> text=top k")
        for name, value in {"k": "1", "epsilon": "2"}.items():
            page.fill(f"#field-{name}", value)
        page.click("summary")
        for name, value in {"delta": "1e-7", "limit": "10"}.items():
            page.fill(f"#field-{name}", value)
        page.click("text=What would it cost?")
        page.click("main form button")
        page.wait_for_url("**/answers/*")
        # 200 persons, epsilon 2: the threshold is far below
        assert page.locator("ol.ranks li").inner_text() == "ant"
    assert (tmp_path / "reads.csv.ledger.db").exists()
