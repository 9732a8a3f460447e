"""Takes the prose out of a file: comments, docstrings, strings that people read, the running text of documents.

A Passage is text that belongs together (a comment over several lines, the pieces of one string, a paragraph, a cell of a
table) with the line that each of its parts comes from. Its sentences are split here, too.
"""
import ast
import io
import re
import tokenize
from bisect import bisect_right

from guards import cpp_source, tree

# `word  <three blanks or more>  word`, a bullet or a number: a row of a table or a list, not the middle of a sentence.
OWN_LINE = re.compile(r"\S {3,}\S|^\s*([-*•·]|\d+[.)])\s|^\s*\||^ {2,}\S|^\s*@\w")
STRING_OPEN = re.compile(r'^(?:u8|[uUL])?"|"$')
# A string that a person reads has two words side by side, and is no SQL, JSON, markup or pattern.
READS_LIKE_WORDS = re.compile(r"[A-Za-z]{2,}[,;:.]? +[A-Za-z]{2,}")
NO_PROSE = re.compile(r"\b(SELECT|INSERT|CREATE (TABLE|INDEX|VIEW)|PRAGMA|DELETE FROM|UNION ALL)\b|\":|^\s*\{+\\?\"|\(\?|default-src|[;{]\s*--?\w+:")
# A sentence may begin with a code span or a link, whatever their first letter is.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"”')*]*\s+(?=[\"“'(*]*[`\[A-Z0-9])|(?<=[.!?][\"”)])\s+(?=[A-Z])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|approx|Fig|No|St)\.$|\b[A-Z]\.$")
HELP_CALL = re.compile(r"\badd_(?:option|flag|subcommand|option_function|flag_function|flag_callback)\w*(?:<[^<>]*>)?\(")
TESTS = ("tests", "bench", "examples")


class Passage:
    def __init__(self, kind, starts_sentence=True):
        self.kind = kind  # comment, docstring, string, help, document, heading
        self.starts_sentence = starts_sentence
        self.text = ""
        self.places = []  # offsets in text where a new line of the file begins
        self.lines = []

    def add(self, line, text, glue=""):
        if self.text:
            self.text += glue
        self.places.append(len(self.text))
        self.lines.append(line)
        self.text += text
        return self

    def line_at(self, offset):
        return self.lines[max(0, bisect_right(self.places, offset) - 1)]

    def sentences(self):
        """(line, sentence), blanks made single."""
        begin = 0
        for end in [match for match in SENTENCE_END.finditer(self.text)] + [None]:
            stop = end.start() if end else len(self.text)
            if end and ABBREVIATION.search(self.text[begin:stop].rstrip("\"”')*")):
                continue
            raw = self.text[begin:stop]
            sentence = " ".join(raw.split())
            if sentence:
                yield self.line_at(begin + len(raw) - len(raw.lstrip())), sentence
            begin = end.end() if end else stop


def passages_of_lines(kind, lines):
    """[(line number, text)] that follow each other → passages, cut at blank lines and rows of lists and tables."""
    result, current = [], None
    for number, text in lines:
        if not text.strip():
            current = None
        elif OWN_LINE.search(text):
            current = None
            result.append(Passage(kind).add(number, re.sub(r"^\s*([-*•·]|\d+[.)])\s+", "", text).strip()))
            if re.match(r"\s*([-*•·]|\d+[.)])\s", text):
                current = result[-1]  # a bullet goes on in the next lines
        elif current is None:
            current = Passage(kind).add(number, text.strip())
            result.append(current)
        else:
            current.add(number, text.strip(), "\n")
    return result


def comment_lines(text):
    body = re.sub(r"^(///?/*<?|//!<?|/\*+[!<]*)", "", text)
    if text.startswith("/*"):
        return [re.sub(r"^\s*\*(?!\*) ?", "", line) if index else line for index, line in enumerate(re.sub(r"\*+/$", "", body).split("\n"))]
    return [line.lstrip("/") for line in body.split("\n")]


def cpp_comments(source):
    block, previous, passages = [], None, []
    for offset, text in source.comments:
        line = source.line_of(offset)
        column = offset - source.starts[line - 1]
        is_whole = not source.text[source.starts[line - 1]:offset].strip()
        marked = text.startswith(("///<", "//!<"))
        goes_on = previous and is_whole and line == previous[0] + 1 and not text.startswith("/*") and (
            previous[1] or column == previous[2] or marked)
        if not goes_on:
            passages += passages_of_lines("comment" if previous is None or previous[1] else "trailing", block)
            block = []
            whole = is_whole
        lines = comment_lines(text)
        block += [(line + index, each[1:] if each.startswith(" ") else each) for index, each in enumerate(lines)]
        previous = (line + len(lines) - 1, whole, column)
    return passages + passages_of_lines("comment" if previous is None or previous[1] else "trailing", block)


def call_end(text, begin, strings):
    """The offset behind the parenthesis that closes the one before `begin`; strings are {offset: end}."""
    depth, at = 1, begin
    while at < len(text) and depth:
        if at in strings:
            at = strings[at]
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def cpp_strings(source):
    """Strings as the compiler joins them, those that are read by people."""
    ends = {offset: offset + len(text) for offset, text, _ in source.strings}
    helps = []
    for match in HELP_CALL.finditer(source.text):
        helps.append((match.end(), call_end(source.text, match.end(), ends)))
    joined, last_end = [], None
    for offset, text, is_raw in source.strings:
        if last_end is not None and not source.text[last_end:offset].strip():
            joined[-1].append((offset, text, is_raw))
        else:
            joined.append([(offset, text, is_raw)])
        last_end = offset + len(text)
    included = {source.line_of(offset) for offset, text in source.directives if re.match(r"\s*#\s*(include|pragma|error)", text)}
    passages = []
    for pieces in joined:
        if source.line_of(pieces[0][0]) in included:
            continue
        whole = "".join(text for _, text, _ in pieces)
        if not READS_LIKE_WORDS.search(whole) or NO_PROSE.search(STRING_OPEN.sub("", whole)):
            continue
        kind = "help" if any(begin <= pieces[0][0] < end for begin, end in helps) else "string"
        lines = []
        passage = Passage(kind)
        for offset, text, is_raw in pieces:
            line = source.line_of(offset)
            if is_raw:
                body = re.sub(r'^[^(]*\(|\)[^)]*"$', "", text)
                lines += [(line + index, each) for index, each in enumerate(body.split("\n"))]
                continue
            body = STRING_OPEN.sub("", text).replace('\\"', '"')
            parts = body.split("\\n")
            passage.add(line, without_markup(parts[0]))
            for part in parts[1:]:
                passages.append(passage)
                passage = Passage(kind).add(line, without_markup(part))
        passages.append(passage)
        if lines:
            passages += passages_of_lines(kind, [(number, without_markup(text)) for number, text in lines])
    return [passage for passage in passages if passage.text.strip()]


def without_markup(text):
    """Tags of HTML: those of blocks end a sentence, the others go."""
    if "<" not in text:
        return text
    text = re.sub(r"</?(?:p|li|td|th|tr|h\d|div|summary|details|ul|table|section|br|title)\b[^<>]*>", ". ", text)
    return re.sub(r"</?[a-z][^<>]*>", "", text)


def of_cpp(path, text):
    source = cpp_source.read_source(text)
    passages = cpp_comments(source)
    if not path.startswith(TESTS):
        passages += cpp_strings(source)
    return passages


def of_python(text):
    passages = []
    try:
        parsed = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        return []
    for node in ast.walk(parsed):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node, clean=False):
            first = node.body[0]
            lines = first.value.value.split("\n")
            passages += passages_of_lines("docstring", [(first.lineno + index, re.sub(r"^ {4,8}(?=\S)", "", line) if index else line)
                                                        for index, line in enumerate(lines)])
    block = []
    for token in tokens:
        if token.type != tokenize.COMMENT or token.string.startswith("#!"):
            continue
        if block and block[-1][0] != token.start[0] - 1:
            passages += passages_of_lines("comment", block)
            block = []
        block.append((token.start[0], token.string.lstrip("#").removeprefix(" ")))
    return passages + passages_of_lines("comment", block)


def of_hash_comments(text):
    """Shell and CMake: comments that stand in lines of their own."""
    passages, block = [], []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("#") and not stripped.startswith("#!"):
            block.append((number, stripped.lstrip("#").removeprefix(" ")))
        elif block:
            passages += passages_of_lines("comment", block)
            block = []
    return passages + passages_of_lines("comment", block)


def of_typescript(text):
    passages, block = [], []
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*(?://+|/\*\*?|\*(?!/))\s?(.*?)(?:\*/)?$", line)
        if comment:
            block.append((number, comment.group(1)))
            continue
        passages += passages_of_lines("comment", block)
        block = []
        for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', line):
            if READS_LIKE_WORDS.search(match.group(1)) and not NO_PROSE.search(match.group(1)):
                passages.append(Passage("string").add(number, match.group(1)))
    return passages + passages_of_lines("comment", block)


def of_markdown(text):
    passages, block, fence = [], [], None
    for number, line in enumerate(text.split("\n"), 1):
        opened = re.match(r"\s*(```+|~~~+)", line)
        if opened or fence:
            if opened and (fence is None or line.strip().startswith(fence)):
                fence = None if fence else opened.group(1)
            passages += passages_of_lines("document", block)
            block = []
            continue
        if re.match(r"\s*\|", line) or re.match(r"\s*#{1,6}\s", line):
            passages += passages_of_lines("document", block)
            block = []
            if re.match(r"\s*#", line):
                passages.append(Passage("heading").add(number, line.lstrip("# ")))
            else:
                passages += [Passage("document").add(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line)
                             if re.search("[A-Za-z]", cell)]
            continue
        block.append((number, re.sub(r"^ +(?=\S)", "", line)))
    return passages + passages_of_lines("document", block)


def of_schema(text):
    """The descriptions of a JSON schema."""
    passages = []
    for match in re.finditer(r'"(?:description|title)":\s*"((?:[^"\\]|\\.)*)"', text):
        passages.append(Passage("document").add(text.count("\n", 0, match.start(1)) + 1, match.group(1)))
    return passages


def of_file(root, path):
    text = tree.read(root, path)
    if path.endswith(".schema.json"):
        return of_schema(text)
    if path.endswith(tree.CPP):
        return of_cpp(path, text)
    if path.endswith(".py"):
        return of_python(text)
    if path.endswith((".sh", ".cmake", "CMakeLists.txt")):
        return of_hash_comments(text)
    if path.endswith(".ts"):
        return of_typescript(text)
    return of_markdown(text)


ENDINGS = tree.CPP + (".py", ".sh", ".cmake", "CMakeLists.txt", ".ts", ".md", ".schema.json")
