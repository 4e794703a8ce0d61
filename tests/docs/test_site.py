"""The site of the docs: built strictly, complete, the same as on GitHub, and it fetches nothing."""

import fcntl
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from markdown_it import MarkdownIt

import calm
from tests.browser.conftest import chromium  # noqa: F401 - a fixture
from tests.docs.pages import load_generator
from tests.lanes import slow
from tools.site import __main__ as build
from tools.site import pages, reference

GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])
EDITS = sorted((pages.ROOT / "perturbations").glob("[a-z]*.py"))
DEFINED = re.compile(r"^@perturbation\(.*?^def ([a-z]\w*)\(", re.MULTILINE | re.DOTALL)
"""The functions that are edits."""
COUNTED = ("li", "tr", "td", "th", "pre", "img", "h1", "h2", "h3", "strong", "em")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built once for all processes of this run."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if folder.name.startswith("popen-") else folder
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "site").exists():
            assert build.main(["--out", str(shared / "site")]) == 0, "the build says why above"
    return shared / "site"


class Article(HTMLParser):
    """What a reader sees of a page: the words of its article, and how many of each element it has."""

    def __init__(self):
        super().__init__()
        self.words, self.counts, self.inside, self.skipped = [], dict.fromkeys(COUNTED, 0), 0, 0

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.inside += tag == "article"
        if self.skipped or "headerlink" in (found.get("class") or "") or tag in ("script", "style", "button"):
            self.skipped += tag not in ("img", "br", "hr", "input")
        elif self.inside and tag in self.counts:
            self.counts[tag] += 1

    def handle_endtag(self, tag):
        self.inside -= tag == "article"
        self.skipped = max(0, self.skipped - 1)

    def handle_data(self, data):
        if self.inside and not self.skipped:
            self.words.append(data)


def seen(text):
    """Return the words and the elements of an article, without spaces, which a highlighter moves."""
    article = Article()
    article.feed(text)
    return "".join("".join(article.words).split()), article.counts


def html_of(site, name):
    return (site / name).with_suffix(".html").read_text("utf-8")


def test_every_page_of_the_repository_is_on_the_site_and_in_its_navigation(site):
    """Also one that was added a minute ago: nobody has to list it."""
    expected = {pages.site_path(page.relative_to(pages.ROOT).as_posix()) for page in pages.originals()}
    expected |= {pages.DECISIONS, *(f"api/{package}.md" for package in reference.PACKAGES)}

    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")} - {"404.md"}
    nav = build.settings(build.navigated(sorted(expected)))

    assert built == expected
    assert [name for name in expected if f'"{name}"' not in nav] == []


def test_a_page_says_on_the_site_what_it_says_on_github(site, subtests):
    """Word for word, with as many rows, items and blocks: the two read Markdown by rules of their own."""
    for page in pages.originals():
        name = page.relative_to(pages.ROOT).as_posix()
        with subtests.test(name):
            github = seen(f"<article>{GITHUB.render(page.read_text('utf-8'))}</article>")

            assert seen(html_of(site, pages.site_path(name))) == github


def test_no_page_fetches_anything(site):
    """Scripts, styles, pictures and fonts are the site's own."""
    fetched = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
    styled = re.compile(r"""(?:@import|url\()\s*["']?((?:https?:)?//[^"')]+)""")

    found = {path.name: fetched.findall(path.read_text("utf-8")) for path in site.rglob("*.html")}
    found |= {path.name: styled.findall(path.read_text("utf-8")) for path in site.rglob("*.css")}

    assert {name: links for name, links in found.items() if links} == {}


def test_every_public_name_is_in_the_reference_with_its_docstring(site):
    """All names of the packages for people's own code, and each edit that ships."""
    from calm import strategies

    shown = {package: html_of(site, f"api/{package}.md") for package in reference.PACKAGES}

    anchors = {name for page in shown.values() for name in re.findall(r'<h\d id="(calm[\w.]*)"', page)}
    names = {f"calm.{name}" for name in calm.__all__ if callable(getattr(calm, name))}
    names |= {f"calm.strategies.{name}" for name in strategies.__all__}
    names |= {"calm.testing.check_perturbation", "calm.testing.found"}
    assert names - anchors == set()
    edits = {f"calm.perturbations.{path.stem}.{name}" for path in EDITS for name in DEFINED.findall(path.read_text())}
    assert len(edits) > 200
    assert edits - anchors == set()


@pytest.mark.parametrize("link", ["index.md#no-such-heading", slow("nowhere.md")])
def test_a_link_that_leads_nowhere_stops_the_build(link, tmp_path):
    """So the build holds what it promises."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n[a link]({link})\n")
    (tmp_path / "zensical.toml").write_text(build.settings(build.navigated(["index.md"])))

    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode != 0
    assert "does not exist" in done.stdout + done.stderr


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_reader_finds_a_page_by_its_words(site, chromium):  # noqa: F811
    """The search runs in the browser, asks no other server, and works on a phone; no page is wider than its screen."""
    with served(site) as url:
        for width in (1280, 390):
            context = chromium.new_context(viewport={"width": width, "height": 844})
            page, asked, complaints = context.new_page(), [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda error, complaints=complaints: complaints.append(str(error)))
            page.goto(f"{url}/how-to/run-in-ci.html")
            wide = page.evaluate("document.documentElement.scrollWidth")
            page.keyboard.press("Control+k")
            page.keyboard.type("smallest text that flips")
            page.locator("a[href*='hunt-for-the-smallest-text']").first.wait_for(timeout=10_000)
            context.close()

            assert wide <= width
            assert [one for one in asked if not one.startswith((url, "blob:", "data:"))] == []
            assert complaints == []


SOUGHT = {
    **dict.fromkeys(("quickstart", "install"), "index.html#quickstart"),
    "price": "index.html#price-and-cost-of-a-run",
    "cost": "index.html#price-and-cost-of-a-run",
    "my own cases csv": "index.html#i-have",
    "CI": "how-to/run-in-ci.html",
    "GitHub Actions": "how-to/run-in-ci.html",
    "gitlab": "how-to/run-in-ci.html",
    **{
        words: f"reference/biases.html#{section}"
        for section, names in {
            "position-bias": ("position bias", "order bias", "slot bias", "prefers the first answer"),
            "length-bias": ("length bias", "verbosity bias", "prefers longer answers"),
            "markdown-bias": ("markdown", "format bias", "judge prefers bullet lists"),
            "authority-bias": ("authority bias", "fake references"),
            "bandwagon-bias": ("bandwagon bias", "conformity", "social proof"),
            "prompt-injection": ("prompt injection", "jailbreak"),
            "sycophancy": ("sycophancy",),
            "self-preference": ("self-enhancement", "prefers its own answers"),
            "brand-bias": ("brand",),
            "sentiment-bias": ("sentiment bias", "emotional bias"),
            "distraction": ("irrelevant remarks",),
            "gender": ("gender", "religion", "fairness"),
            "framing-effect": ("framing effect",),
            "refinement-bias": ("refinement bias",),
            "reasoning-errors": ("fallacies",),
            "hallucination": ("hallucination",),
            "inconsistency": ("inconsistency", "randomness"),
            "agreement-with-people": ("agreement with people", "human alignment"),
            "chain-of-thought": ("chain of thought",),
            "anchoring-bias": ("anchoring bias", "hindsight bias"),
            "language-bias": ("language bias", "dialect and typos"),
            "other-known-effects": ("decoy effect",),
        }.items()
        for words in names
    },
}
"""What a reader types, and the beginning of where the first result leads."""


def test_the_first_result_is_what_the_reader_looks_for(site, chromium):  # noqa: F811
    """Each bias by its common names, and what a newcomer asks first."""
    found = {}
    with served(site) as url:
        page = chromium.new_page()
        page.goto(f"{url}/how-to/lint-a-prompt.html", wait_until="networkidle")
        page.keyboard.press("Control+k")
        results = page.locator("a[href*='?h=']")
        for words in SOUGHT:
            for typed, state in (("qqqqq", "detached"), (words, "attached")):  # nothing, so that nothing old is read
                page.keyboard.press("Control+a")
                page.keyboard.insert_text(typed)
                results.first.wait_for(state=state, timeout=10_000)
            found[words] = re.sub(r"\?h=[^#]*", "", results.first.get_attribute("href")).removeprefix(f"{url}/")
        page.close()

    assert {words: to for words, to in found.items() if not to.startswith(SOUGHT[words])} == {}


def test_each_suite_of_the_default_gate_has_a_common_name():
    """The page of biases names them all, and no suite that is gone."""
    generator = load_generator()
    suites = {name: generator.bias_of(name) for name in generator.suite_names()}
    default = {bias for name, bias in suites.items() if not generator.is_extra(generator.source_of(name))}

    named = re.findall(r"`([a-z][\w-]+)`", (pages.ROOT / "docs/reference/biases.md").read_text("utf-8"))

    assert default - set(named) == set()
    assert set(named) - set(suites.values()) == set()
