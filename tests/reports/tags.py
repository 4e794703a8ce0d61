"""The elements of a page, as a test of reports reads them."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """All elements of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


class Tables(HTMLParser):
    """The tables of a page by their names: rows of the texts of their cells, the head first."""

    def __init__(self, page):
        super().__init__()
        self.found, self._cell = {}, None
        self._name = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "div":
            self._name = dict(attrs).get("aria-label", "")
        elif tag == "tr":
            self.found.setdefault(self._name, []).append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self._cell is not None:
            self.found[self._name][-1].append("".join(self._cell).replace("\N{NO-BREAK SPACE}", " ").strip())
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)
