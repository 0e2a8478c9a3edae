"""Programs that measure; each runs from the project folder: ``python -m benchmarks.bench_fit``."""
