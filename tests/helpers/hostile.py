"""Names that break what shows them without care."""

HOSTILE = [
    "<script>alert(1)</script>", "line\nbreak", "tab\there", "\x00\x1b[31mred", "‮backwards",
    "quote\"'`", "x" * 5000, "ا" * 60, "{x}", "%s $x$ _a^b_", " ", "日本語",
]  # fmt: skip
