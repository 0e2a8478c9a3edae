"""Printed rules and formulas, computed as they stand, by nothing but what a reader sees.

Names of columns and categories are plain words. A row is a dict; a missing value is None.
"""

import re
from math import exp, inf

_NUMBER = r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|∞)"


def number(text):
    return float(text.replace("∞", "inf"))


def rule_holds(text, row):
    """Whether a row meets a rule: "3 < grade ≤ 7 and (region ∈ {north} or missing)"."""
    if text == "all rows":
        return True
    return all(_condition_holds(own, row) for own in re.split(r" and ", text))


def _condition_holds(text, row):
    text = text.strip("()")
    also = text.endswith(" or missing")
    text = text.removesuffix(" or missing")
    if found := re.fullmatch(r"(\w+) is (not missing|missing|anything)", text):
        is_missing = row[found[1]] is None
        return {"missing": is_missing, "not missing": not is_missing, "anything": True}[found[2]]
    if found := re.fullmatch(rf"(?:({_NUMBER}) < )?(\w+) (?:≤ ({_NUMBER})|> ({_NUMBER}))", text):
        value = row[found[2]]
        if value is None:
            return also
        low = max(number(found[1] or "-inf"), number(found[4] or "-inf"))
        return low < value <= number(found[3] or "inf")
    found = re.fullmatch(r"(\w+) (∈|∉) \{([^}]*)\}( or new)?", text)
    assert found, text
    value = row[found[1]]
    if value is None:
        return also
    return (value in found[3].split(", ")) == (found[2] == "∈")


def score(text, row, fills, ranges=None):
    """The sum that a formula says: "2.5 - 0.52·clip(age, 20, 60) + 1·[region = north]"."""
    names = dict(_ranged(row, fills, ranges or {}))
    text = re.sub(r"\[(\w+) is missing\]", lambda found: str(int(row[found[1]] is None)), text)
    text = re.sub(r"\[(\w+) = (\w+)\]", lambda found: str(int(row[found[1]] == found[2])), text)
    code = text.replace("·", "*").replace("∞", "inf")
    allowed = {"clip": lambda x, a, b: min(max(x, a), b), "min": min, "max": max, "inf": inf}
    return float(eval(code, {"__builtins__": {}}, {**names, **allowed}))


def _ranged(row, fills, ranges):
    for name, value in row.items():
        if value is None:
            value = fills.get(name)
        if isinstance(value, (int, float)):
            low, high = ranges.get(name, (-inf, inf))
            yield name, min(max(value, low), high)


def fills_of(text):
    """What missing numbers count as, by the line that says it."""
    found = re.search(r"^A missing number counts as: (.*)\.$", text, re.M)
    pairs = found[1].split(", ") if found else []
    return {pair.rsplit(" ", 1)[0]: number(pair.rsplit(" ", 1)[1]) for pair in pairs}


def ranges_of(line):
    """The ranges of one leaf: "within age 20 to 60, pay -∞ to 3"."""
    pattern = rf"(\w+) ({_NUMBER}) to ({_NUMBER})"
    return {name: (number(low), number(high)) for name, low, high in re.findall(pattern, line)}


def limits_of(text, leaf=None):
    """The ends in which a score is held, (-inf, inf) if nothing is said."""
    start = "The" if leaf is None else rf"In leaf {leaf} \(.*\) the"
    found = re.search(rf"^{start} score is held between ({_NUMBER}) and ({_NUMBER})\.$", text, re.M)
    if found is None and leaf is not None:
        return limits_of(text)
    return (number(found[1]), number(found[2])) if found else (-inf, inf)


def prediction(text, raw):
    """What the headline makes of a score."""
    link = text.split("\n", 1)[0].rsplit("; ", 1)[1]
    if link == "prediction = score":
        return raw
    return exp(raw) if link == "prediction = exp(score)" else 1 / (1 + exp(-raw))


def postcard(text):
    """Of a model told by differences: (depth, rule, sum) of all nodes as they are printed."""
    body = text.split("\n\n")[1].replace("\n        ", " ")
    body = re.sub(r"\n((?:\|   )+) {8}", " ", body)
    head, *others = body.split("\n")
    out = [(0, "all rows", head.split(" = ", 1)[1])]
    for line in others:
        depth = line.count("|   ")
        rule, said = re.fullmatch(r"(.*) \([\d,]+ rows?\): (.*)", line[4 * depth :]).groups()
        out.append((depth + 1, rule, "0" if said == "as above" else said.replace("+ ", "+", 1)
                    if said.startswith("+ ") else said))  # fmt: skip
    return out


def by_postcard(text, row):
    """The prediction of a row, by a model told by differences."""
    total, deepest, fills = 0.0, 0, fills_of(text)
    for depth, rule, said in postcard(text):
        if depth <= deepest and rule_holds(rule, row):
            total, deepest = total + score(said, row, fills), depth + 1
        elif depth < deepest:
            deepest = depth
    low, high = limits_of(text)
    return prediction(text, min(max(total, low), high))


def leaves(text):
    """Of a model with a formula in every leaf: (number, rule, sum, ranges)."""
    for block in re.findall(r"^Leaf (\d+): (.*)\n((?:  .*\n?)*)", text, re.M):
        formula = re.search(r"^  score = (.*)$", block[2], re.M)[1]
        within = re.search(r"^  within (.*)$", block[2], re.M)
        yield int(block[0]), block[1], formula, ranges_of(within[1]) if within else {}


def by_leaves(text, row):
    """The prediction of a row and its leaf, by the one leaf whose rule holds."""
    (own,) = [leaf for leaf in leaves(text) if rule_holds(leaf[1], row)]
    leaf, _, formula, ranges = own
    low, high = limits_of(text, leaf)
    raw = score(formula, row, fills_of(text), ranges)
    return prediction(text, min(max(raw, low), high)), leaf
