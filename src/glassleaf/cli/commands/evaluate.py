"""``glassleaf evaluate``: how good a model is on rows whose targets are known."""

from __future__ import annotations

from glassleaf.cli import options
from glassleaf.cli.choices import OnError


def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnError = OnError.stop,
) -> None:
    """Score a model on rows whose true values are known."""
    from glassleaf.cli.output import screen
    from glassleaf.cli.output.score_screen import score_table
    from glassleaf.cli.reading.labeled import evaluate_file
    from glassleaf.cli.reading.models import read_model

    how = options.read_options(delimiter, encoding, decimal, missing, on_error)
    found = evaluate_file(read_model(model), data, target, weight, how)
    if json:
        screen.write_json(
            {
                "model": str(model),
                "data": data,
                "target": found.target,
                "rows": found.n_rows,
                "skipped_rows": found.n_skipped,
                "scores": {score.name: score.value for score in found.scores},
            }
        )
        return
    out = screen.console()
    out.print(f"{model} on {data}: {found.n_rows:,} rows, target {found.target}", soft_wrap=True)
    out.print()
    out.print(score_table(found.scores))
