"""What both translators of kernels for the host are started with."""
import sys


class TranslationError(Exception):
    """The source has something that a translator does not know."""


def main(translate, usage):
    """Writes what `translate(text, path)` makes of the file that the command line names first to the one that it names second."""
    if len(sys.argv) != 3:
        sys.exit(usage)
    source, output = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    try:
        translated = translate(text, source)
    except TranslationError as error:
        sys.exit(f"{source}: {error}")
    with open(output, "w", encoding="utf-8") as file:
        file.write(translated)
