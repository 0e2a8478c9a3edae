"""``python -m glassleaf.cli``, the same as ``glassleaf``."""

from glassleaf.cli import main

if __name__ == "__main__":
    main(prog_name="glassleaf")
