"""The elements of a page, as a test of reports reads them."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """All elements of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
