#!/usr/bin/env python3
"""Sentences of scripts/demo.sh, from the JSON of stepscope whatif and stepscope compare.

usage: demo_story.py predicted WHATIF.json
       demo_story.py measured COMPARE.json
       demo_story.py gained WHATIF.json COMPARE.json
"""
import json
import sys
import textwrap


def ms(ns):
    return f"{ns / 1e6:.3g} ms"


def gained(whatif, comparison):
    step = next(metric for metric in comparison["metrics"] if metric["name"] == "step")
    before, after = step["base"], step["new"]
    if step["verdict"] != "faster":
        return (
            f"A step took {ms(before)} with the slow input and {ms(after)} without it, and the comparison does not call that faster "
            f"({step['verdict']}). Something else slowed a run: end other programs and run the demo again."
        )
    predicted = whatif["answers"][0]["step_ns"]
    error = (predicted / after - 1) * 100
    return (
        f"A step took {ms(before)} with the slow input. Stepscope predicted {ms(predicted)} without it, and {ms(after)} was "
        f"measured: the prediction was off by {error:+.1f} %. The training runs {before / after:.2f} times as fast."
    )


def main():
    try:
        what, *files = sys.argv[1:]
        documents = []
        for path in files:
            with open(path, encoding="utf-8") as file:
                documents.append(json.load(file))
        sentences = {
            "predicted": lambda: documents[0]["headline"],
            "measured": lambda: documents[0]["headline"],
            "gained": lambda: gained(*documents),
        }
        text = sentences[what]()
    except (ValueError, KeyError, IndexError, OSError, StopIteration, TypeError) as error:
        sys.exit(f"demo_story.py: {error!r}\n{__doc__}")
    print(textwrap.fill(text, 98, initial_indent="   ", subsequent_indent="   "))


if __name__ == "__main__":
    main()
