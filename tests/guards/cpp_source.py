"""Reads C++ as text for the guards: comments, strings, code lines and function bodies, without a compiler.

It follows braces, parentheses and brackets over the whole file and decides at each `{` outside functions from the words
before it whether a namespace, a type, a function, a lambda or an initialiser opens. Where the preprocessor offers
several branches, the braces of the last branch count.
"""
import re
from bisect import bisect_right
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n\\]*(?:\\(?:\n|.)?[^\n\\]*)*|/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z))
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"?)
    | (?P<number>\.?\d(?:'?[A-Za-z0-9_]|(?<=[eEpP])[+-]|\.)*)
    | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:[^\n\\/]|\\(?:\n|.)?|/(?![/*]))*)
    | (?P<mark2>->\*?|::|<=>|<=|>=|==|!=|&&|\|\||\.\.\.|[^\s\w])
    """,
    re.S | re.X,
)
TYPE_WORDS = {"class", "struct", "union", "enum"}
LEADING_WORDS = {"static", "inline", "constexpr", "const", "typedef", "export", "extern", "friend", "volatile", "thread_local",
                 "constinit", "mutable"}
NOT_NAMES = {"noexcept", "requires", "decltype", "alignas", "throw", "__attribute__", "__declspec", "explicit", "sizeof",
             "return", "if", "for", "while", "switch"}
STATEMENT_WORDS = {"if", "for", "while", "switch", "constexpr"}
BLOCK_WORDS = {"else", "do", "try"}
TEST_MACROS = {"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"}
LAMBDA = re.compile(r"(?<!operator )\[\](?: <.*>)?(?: \(\))?(?: (?:mutable|constexpr|noexcept|\(\)))*(?: -> [^=]*)?$")


@dataclass
class Function:
    name: str
    first_line: int
    body_line: int
    last_line: int
    body: tuple  # (begin, end) offsets of what is between the braces
    is_test: bool


@dataclass
class Source:
    text: str
    comments: list = field(default_factory=list)  # (offset, text)
    strings: list = field(default_factory=list)  # (offset, text as written, is_raw)
    words: list = field(default_factory=list)  # (offset, identifier or keyword)
    directives: list = field(default_factory=list)  # (offset, text)
    functions: list = field(default_factory=list)
    nested_conditionals: list = field(default_factory=list)  # lines
    code_lines: list = field(default_factory=list)  # by line - 1: holds code
    blank_lines: list = field(default_factory=list)  # by line - 1: empty, and in no comment or string
    starts: list = field(default_factory=list)
    unclosed_line: int = 0  # of the brace that is never closed, or of one that closes none; 0: all is well

    def line_of(self, offset):
        return bisect_right(self.starts, offset)

    def code_lines_in(self, first, last):
        return sum(self.code_lines[first - 1:last])


class Frame:
    """An open brace, parenthesis or bracket."""

    __slots__ = ("kind", "head", "head_at", "start", "function", "open_questions", "in_else", "had_conditional",
                 "of_statement")

    def __init__(self, kind, start):
        self.kind = kind  # file, scope, type, function, init, (, [; inside functions block, value, (, [
        self.head = []
        self.head_at = None
        self.start = start
        self.function = None
        self.of_statement = False  # the parentheses of an if, for, while or switch
        self.forget_conditionals()

    def forget_conditionals(self):
        self.open_questions = 0
        self.in_else = False
        self.had_conditional = False

    def add(self, token, offset):
        if not self.head:
            self.head_at = offset
        self.head.append(token)

    def clear(self):
        self.head = []
        self.head_at = None

    def copy(self):
        twin = Frame(self.kind, self.start)
        for name in Frame.__slots__:
            value = getattr(self, name)
            setattr(twin, name, list(value) if isinstance(value, list) else value)
        return twin


def without_template_prefix(head):
    """The words behind `template <…>` and behind a requires clause in front of a type or function."""
    while head and head[0] == "template":
        depth, at = 0, 1
        while at < len(head):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
            if depth == 0:
                break
        head = head[at:]
    return head


def classify(head, in_expression):
    """(kind, name) of the brace that follows these words; parentheses are "()", brackets "[]", braces "{}", strings '""'."""
    text = " ".join(head)
    if LAMBDA.search(text):
        return "function", "lambda"
    if in_expression:
        return "init", ""
    if head and head[-1] == "requires" or head[-2:] == ["requires", "()"] and head[0] != "template":
        return "init", ""
    head = without_template_prefix(head)
    if head[:1] == ["namespace"] or head[:2] == ["inline", "namespace"] or head == ["extern", '""']:
        return "scope", ""
    at = 0
    while at < len(head) and (head[at] in LEADING_WORDS or head[at] == "[]"):
        at += 1
    rest = head[at:]
    if "operator" not in rest and rest[:1] and rest[0] in TYPE_WORDS:
        before_bases = rest[:rest.index(":")] if ":" in rest else rest
        named = [word for index, word in enumerate(before_bases)
                 if word != "()" or before_bases[index - 1] not in NOT_NAMES]
        if "()" not in named and "=" not in named:
            return ("init" if rest[0] == "enum" else "type"), ""
    if "operator" in rest:
        at = rest.index("operator")
        tail = rest[at + 1:]
        if "()" in tail:
            name = "operator" + "".join(tail[:1] if tail[0] != "()" else ["()"])
            return body_or_initializer(rest, name)
    if "=" in rest or "()" not in rest:
        return "init", ""
    signature = rest
    for mark in (":", "->"):
        if mark in signature:
            signature = signature[:signature.index(mark)]
    name = ""
    for index in range(len(signature) - 1, 0, -1):
        before = signature[index - 1]
        if signature[index] == "()" and before not in NOT_NAMES and (re.match(r"[A-Za-z_]", before) or before == ">"):
            first = index - 1
            while first >= 2 and signature[first - 1] in ("::", "~"):
                first -= 1 if signature[first - 1] == "~" else 2
            name = "".join(signature[max(first, 0):index])
            break
    if not name:
        return "init", ""
    return body_or_initializer(rest, name)


def body_or_initializer(head, name):
    """Behind a constructor's `:` a brace opens its body only where a member's value has just ended."""
    if ":" in head and head[-1] not in ("()", "{}", "..."):
        return "init", ""
    return "function", name


def line_starts(text):
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    return starts


def read_source(text):
    source = Source(text)
    source.starts = line_starts(text)
    count = len(source.starts)
    holds_code = [False] * count
    holds_text = [False] * count  # a comment or a string that goes over several lines
    stack = [Frame("file", 0)]
    branches = []
    last_code_line = 0
    before = last = ""  # the tokens before this one
    line_of = source.line_of

    def mark_lines(begin, end, flags):
        for line in range(line_of(begin), line_of(max(begin, end - 1)) + 1):
            flags[line - 1] = True

    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        offset = match.start()
        if kind != "comment":
            before = last
            last = match.group(0)
        token = match.group(0)
        if kind == "mark":
            kind = "raw"
        if kind == "comment":
            source.comments.append((offset, token))
            if "\n" in token:
                mark_lines(offset, match.end(), holds_text)
            continue
        if "\n" in token:
            mark_lines(offset, match.end(), holds_code)
        elif offset >= last_code_line:
            line = line_of(offset)
            holds_code[line - 1] = True
            last_code_line = source.starts[line] if line < count else len(text) + 1
        if kind == "directive":
            source.directives.append((offset, token))
            word = token.strip()[1:].strip()
            if word.startswith("if"):
                branches.append([frame.copy() for frame in stack])
            elif word.startswith(("else", "elif")) and branches:
                stack = [frame.copy() for frame in branches[-1]]
            elif word.startswith("endif") and branches:
                branches.pop()
            continue
        top = stack[-1]
        in_function = top.function is not None
        if kind in ("string", "raw"):
            source.strings.append((offset, token, kind == "raw"))
            if not in_function:
                top.add('""', offset)
            continue
        if kind == "word":
            source.words.append((offset, token))
            if not in_function:
                top.add(token, offset)
            elif token == "return":
                top.forget_conditionals()
            continue
        if kind in ("number", "char"):
            if not in_function:
                top.add("0", offset)
            continue
        if token == "{":
            if in_function:
                frame = Frame("value" if re.match(r"[A-Za-z_>(,=]", before) and before not in BLOCK_WORDS else "block", offset)
                frame.function = top.function
            else:
                what, name = classify(top.head, top.kind not in ("file", "scope", "type"))
                frame = Frame(what, offset)
                if what == "function":
                    first = offset if name == "lambda" or top.head_at is None else top.head_at
                    is_test = name in TEST_MACROS
                    if is_test:
                        begin = text.index("(", first)
                        name = f"{name}{' '.join(text[begin:text.index(')', begin) + 1].split())}"
                    frame.function = (name, first, is_test)
            stack.append(frame)
        elif token in "([":
            frame = Frame(token, offset)
            frame.function = top.function
            frame.of_statement = before in STATEMENT_WORDS
            stack.append(frame)
        elif token in ")]":
            if top.kind == {")": "(", "]": "["}[token]:
                stack.pop()
                below = stack[-1]
                if top.had_conditional and not top.of_statement:
                    below.had_conditional = True
                if below.function is None:
                    below.add("()" if token == ")" else "[]", top.start)
        elif token == "}":
            while len(stack) > 1 and stack[-1].kind in "([":
                stack.pop()
            if len(stack) == 1:
                source.unclosed_line = source.unclosed_line or line_of(offset)
            else:
                top = stack.pop()
                below = stack[-1]
                if below.function is not None:
                    if top.kind == "block" and below.kind in ("block", "function"):
                        below.forget_conditionals()
                elif top.kind == "function":
                    name, first, is_test = top.function
                    source.functions.append(Function(name, line_of(first), line_of(top.start), line_of(offset),
                                                     (top.start + 1, offset), is_test))
                    if name == "lambda":
                        below.add("{}", top.start)
                    else:
                        below.clear()
                elif top.kind == "scope":
                    below.clear()
                else:
                    below.add("{}", top.start)
        else:
            if token == "?":
                nested = top.had_conditional
                for frame in reversed(stack):
                    nested = nested or frame.open_questions > 0 or frame.in_else
                    if frame.kind not in ("(", "[", "value"):
                        break
                if nested:
                    source.nested_conditionals.append(line_of(offset))
                top.open_questions += 1
                top.had_conditional = True
            elif token == ":" and top.open_questions:
                top.open_questions -= 1
                top.in_else = True
            elif token in (";", ",", "="):
                top.forget_conditionals()
            if not in_function:
                if token == ";":
                    top.clear()
                elif token == ":" and len(top.head) == 1 and top.head[0] in ("public", "private", "protected"):
                    top.clear()
                else:
                    top.add(token, offset)
    if len(stack) > 1:
        source.unclosed_line = source.unclosed_line or line_of(stack[1].start)
    source.code_lines = holds_code
    ends = source.starts[1:] + [len(text)]
    source.blank_lines = [not text[begin:end].strip() and not holds_text[index] and not holds_code[index]
                          for index, (begin, end) in enumerate(zip(source.starts, ends))]
    source.functions.sort(key=lambda function: function.body[0])
    return source
