#!/usr/bin/env python3
"""Checks the site that scripts/docs.sh makes. Every link of every page leads to a file of the site and to an anchor that is there.
The search knows every page. No page loads anything from another host.

    docs_site_test.py               makes the site in a temporary folder; exit status 77 where npm cannot install VitePress
    docs_site_test.py SITE          looks at a site that is there
    docs_site_test.py --self-test   plants each fault in a small site and looks whether it is found
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOST = "https://site.invalid"
SKIPPED = 77
SEARCH = "assets/chunks/@localSearchIndex*.js"
# What a browser fetches by itself; it follows the href of <a> only when asked.
LOADING = {"src", "srcset", "poster", "data"}
OTHER_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s]+)")
OTHER_SCRIPT = re.compile(r"(?:\bfrom|\bimport\(?|\bfetch\(|\bimportScripts\()\s*[\"'`]((?:https?:)?//[^\"'`]+)")


class Page(html.parser.HTMLParser):
    """The links of a page, what it loads, its anchors, and its styles and scripts."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors, self.code = [], [], set(), []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag if tag in ("style", "script") else ""
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name == "style":
                self.code.append(value or "")
            elif name == "srcset":
                self.loads += [part.split()[0] for part in (value or "").split(",") if part.strip()]
            elif name in LOADING or (name == "href" and tag != "a"):
                self.loads.append(value or "")
            elif name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside:
            self.code.append(data)


def faults_of_link(site, pages, name, link, is_loaded):
    """What is wrong with one address of a page."""
    goal = urllib.parse.urlsplit(urllib.parse.urljoin(f"{HOST}/{name}", link))
    if goal.scheme in ("data", "mailto"):
        return []
    if f"{goal.scheme}://{goal.netloc}" != HOST:
        return [f"{name} loads {link}"] if is_loaded else []

    path = urllib.parse.unquote(goal.path)[1:]
    if not path or path.endswith("/"):
        path += "index.html"
    if not (site / path).is_file():
        return [f"{name}: {link} is not there"]
    anchor = urllib.parse.unquote(goal.fragment)
    if anchor and path in pages and anchor not in pages[path].anchors:
        return [f"{name}: {link} has no such anchor"]
    return []


def faults_of_page(site, pages, name):
    page = pages[name]
    found = []
    for link in page.links:
        found += faults_of_link(site, pages, name, link, is_loaded=False)
    for link in page.loads:
        found += faults_of_link(site, pages, name, link, is_loaded=True)
    code = "\n".join(page.code)
    return found + loads_in(name, code, OTHER_STYLE) + loads_in(name, code, OTHER_SCRIPT)


def loads_in(name, code, pattern):
    """Addresses of other hosts in styles or scripts. VitePress itself names one, for icons that the site does not have."""
    return [f"{name} loads {address}" for address in pattern.findall(code)]


def faults_of_search(site, pages):
    """Pages that the search does not know."""
    data = "".join(path.read_text(encoding="utf-8") for path in site.glob(SEARCH))
    if not data:
        return [f"no search data: {SEARCH}"]
    known = set(re.findall(r"\"(/[^\"#]*)(?:#[^\"]*)?\"", data.replace('\\"', '"')))
    addresses = {name: "/" + re.sub(r"(^|/)index\.html$", r"\1", name) for name in pages if name != "404.html"}
    return [f"the search does not know {name}" for name, address in sorted(addresses.items()) if address not in known]


def check(site):
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = {name: Page((site / name).read_text(encoding="utf-8")) for name in names}
    found = [] if "index.html" in pages else ["no index.html"]
    for name in names:
        found += faults_of_page(site, pages, name)
    for ending, pattern in (("css", OTHER_STYLE), ("js", OTHER_SCRIPT)):
        for path in sorted(site.rglob(f"*.{ending}")):
            found += loads_in(path.relative_to(site).as_posix(), path.read_text(encoding="utf-8"), pattern)
    return found + faults_of_search(site, pages)


def install():
    """Fetches VitePress unless it is there; exit status of install_from_npm.sh, which says why it skips."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        print("SKIPPED: node and npm were not found")
        return SKIPPED
    folder = ROOT / "build/docs-site"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / "docs/site" / name, folder / name)
    return subprocess.run(["sh", ROOT / "tests/support/install_from_npm.sh", npm], cwd=folder, check=False).returncode


def make_and_check():
    status = install()
    if status != 0:
        return status
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        made = subprocess.run([ROOT / "scripts/docs.sh", site], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if made.returncode != 0:
            print(made.stdout)
            return 1
        return report(check(site))


def report(faults):
    print("\n".join(faults) if faults else "docs_site_test: every link leads somewhere")
    return 1 if faults else 0


def self_test():
    """A small site without a fault, then with one fault each."""
    whole = {"index.html": '<link href="/a.css"><a href="./b/page.html#two words">x</a><a href="https://else.where/">y</a>'
                           '<img src="data:image/gif,x">',
             "b/page.html": '<h2 id="two words">x</h2><a href="../">up</a><a href="#two%20words">here</a><a href="../b/raw.json">raw</a>',
             "b/raw.json": "{}", "404.html": "<p>nothing here", "a.css": "p{background:url(/a.css)}",
             SEARCH.replace("*", "root"): r'export default `{"0":"/#x","1":"/b/page.html"}`;const home="https://else.where"'}
    faults = [("b/page.html", '<a href="gone.html">', "gone.html is not there"),
              ("b/page.html", '<img src="gone.png">', "gone.png is not there"),
              ("index.html", '<a href="b/page.html#three">', "page.html#three has no such anchor"),
              ("index.html", '<a href="b/">', "b/ is not there"),
              ("index.html", '<script src="https://else.where/x.js">', "loads https://else.where/x.js"),
              ("index.html", '<link href="//else.where/x.css">', "loads //else.where/x.css"),
              ("index.html", '<style>p{background:url("https://else.where/x.png")}</style>', "loads https://else.where/x.png"),
              ("a.css", "@import 'https://else.where/x.css';", "a.css loads https://else.where/x.css"),
              (SEARCH.replace("*", "root"), 'import"https://else.where/x.js"', "loads https://else.where/x.js"),
              ("b/new.html", "<p>a page", "the search does not know b/new.html"), (SEARCH.replace("*", "root"), None, "no search data")]
    failed = 0

    for name, added, expected in [("404.html", "", "")] + faults:
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            for file, text in {name: "", **whole}.items():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).write_text(text + (added or "" if file == name else ""), encoding="utf-8")
            if added is None:
                (site / name).unlink()
            found = check(site)
            if not (len(found) == 1 and expected in found[0] if expected else not found):
                failed += 1
                print(f"expected: {expected!r}; found: {found}")
    return 1 if failed else 0


def main(arguments):
    if "--self-test" in arguments:
        return self_test()
    return report(check(pathlib.Path(arguments[0]))) if arguments else make_and_check()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
