"""Draw the screens of docs/how-to/service anew: `make screens`. The tests walk the same way."""

import sys
from pathlib import Path

from browser.running import CHROMIUM, served

FOLDER = Path(__file__).parents[2] / "docs" / "how-to" / "service"


def follow(page, selector):
    """Click, and wait for the next screen."""
    with page.expect_navigation():
        page.click(selector)


def journey(page, link, shot):
    """One walk through all screens: signing in, planning, asking, reading, looking after."""
    page.goto(link)
    follow(page, "button")
    shot("data-sets")
    follow(page, "text=Plan")
    shot("plan")
    follow(page, "main >> text=Ask")
    follow(page, "nav.tabs >> text=top k")
    page.fill("#field-k", "5")
    page.fill("#field-epsilon", "0.5")
    page.check("text=data scientist")
    shot("ask")
    follow(page, "text=What would it cost?")
    shot("price")
    follow(page, "main form button")
    shot("answer")
    page.goto(page.url.partition("/answers")[0] + "/history")
    shot("history")
    follow(page, "text=Steward")
    shot("steward")


def main(folder):
    # only `make screens` has it, and doctests are looked for in every module of the tests
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    looks = {
        "": {"color_scheme": "light", "viewport": {"width": 900, "height": 700}},
        "-dark": {"color_scheme": "dark", "viewport": {"width": 900, "height": 700}},
        "-narrow": {"color_scheme": "light", "viewport": {"width": 320, "height": 640}},
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for suffix, look in looks.items():
            with served("serve", "--demo") as (_, link):
                page = browser.new_context(**look, java_script_enabled=False).new_page()

                def shot(name, page=page, suffix=suffix):
                    page.screenshot(path=folder / f"{name}{suffix}.png", full_page=True)

                journey(page, link, shot)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
