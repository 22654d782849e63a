"""The site is built without a warning, has every public name, and asks nobody for anything."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests._names import NAMES
from tests._scripts import script

from surefoot.rules import ALGORITHMS

DOCS = Path(__file__).parents[2] / "docs"


class Links(HTMLParser):
    """What a page loads and where it leads, and the anchors that it has."""

    def __init__(self, page):
        super().__init__()
        self.loads, self.leads, self.anchors = [], [], set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") not in ("index", "search", "next", "prev"):
            self.loads.append(found["href"])
        if tag == "a" and found.get("href"):
            self.leads.append(found["href"])


def test_every_algorithm_says_when_to_use_it_and_when_not():
    when = tomllib.loads((DOCS / "when.toml").read_text(encoding="utf-8"))
    rules = {rule.__name__ for rule in ALGORITHMS}
    assert rules <= set(when)
    assert all(set(entry) == {"use", "avoid"} for entry in when.values())
    assert set(when) <= set(NAMES)


@pytest.mark.docs
def test_every_public_name_is_in_the_reference(site):
    names = script("docs/_site/reference.py").public_names()
    assert len(names) > 200
    text = "".join(
        page.read_text(encoding="utf-8") for page in (site / "generated").rglob("*.html")
    )
    missing = [name for name in names if not re.search(rf">{name.rpartition('.')[2]}<", text)]
    assert missing == []


@pytest.mark.docs
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site):
    pages = {page: Links(page) for page in site.rglob("*.html")}
    assert len(pages) > 100
    lost, outside = [], []
    for page, links in pages.items():
        schemes = {url: urlsplit(url).scheme for url in links.loads}
        outside += [f"{page.name}: {url}" for url, s in schemes.items() if s not in ("", "data")]
        for url in links.leads:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages.get(target)
            if not target.exists() or (
                parts.fragment and known and parts.fragment not in known.anchors
            ):
                lost.append(f"{page.name}: {url}")
    assert lost == []
    assert outside == []


@pytest.mark.docs
@pytest.mark.browser
def test_no_page_asks_for_anything_or_complains_in_a_browser(site, chromium):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    asked, complaints, wide = [], [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(file.name)
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    assert wide == []
