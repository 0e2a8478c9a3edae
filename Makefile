# Everything a newcomer needs: Python 3.11 or later, and nothing else.
#
#   make demo    a story in a minute: a table, three models, one to read, a report
#   make test    run the whole test suite
#   make lint    ruff, mypy, import-linter
#   make docs    build the site and check its links; open build/site/index.html
#   make wheel   build wheel and sdist, check them, run the demo from the wheel alone
#   make test-oldest      a core of the tests with the oldest versions that are declared
#   make soak    random models for an hour; see docs/trust.md
#   make reproduce        the paper's evaluation, all of it (GLASSLEAF_DATA: folder of the data)
#   make reproduce-quick  a part of it, with values that are checked
#   make clean   remove .venv and caches

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# All dependencies have wheels, so that no step needs a compiler.
PIP    := $(BIN)/python -m pip install --quiet --prefer-binary

# Fits of every loss, trees and model files: what old versions would break first.
OLDEST := tests/tree/test_tree.py tests/tree/test_complexity.py tests/tree/file tests/test_losses.py tests/estimators/test_losses.py

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs wheel test-oldest soak reproduce reproduce-quick clean-kernels clean
.DELETE_ON_ERROR:

help:
	@sed -n '3,12s/^# *//p' $(firstword $(MAKEFILE_LIST))

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("glassleaf needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Making $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per extra; a change of pyproject.toml installs anew.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/.made
	@echo "Installing glassleaf[$*] into $(VENV)"
	@$(PIP) --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-demo
	@$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q tests/_kernels

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pages are made from scratch: a page that is gone leaves nothing behind.
docs: $(VENV)/.installed-docs
	rm -rf build/site docs/api docs/gallery docs/start
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site
	$(BIN)/python docs/check_links.py build/site

# The files of the release, and those that a forge reads.
wheel: $(VENV)/.installed-release
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist . > /dev/null
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/pre-commit validate-config
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --prefer-binary "$$(ls $(CURDIR)/dist/*.whl)[cli]"
	cd build/wheel && bin/glassleaf demo

# numba of another version must not share our cache of kernels.
test-oldest:
	$(PYTHON) -m venv build/oldest
	$(PYTHON) .ci/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --prefer-binary -c build/oldest/constraints.txt ".[data,plot,cli]" pytest hypothesis
	NUMBA_CACHE_DIR=$(CURDIR)/build/oldest/kernels build/oldest/bin/python -m pytest -q -p no:cacheprovider $(OLDEST)

soak: $(VENV)/.installed-test
	$(BIN)/python -m tests.soak --minutes 60 --state build/soak.json

reproduce: $(VENV)/.installed-peers
	$(BIN)/python -m reproduction --peers

reproduce-quick: $(VENV)/.installed-reproduce
	$(BIN)/python -m reproduction --quick --fresh --output build/reproduction/quick

# numba sees a change of a kernel's own file only.
clean-kernels:
	find src -name '*.nb[ci]' -delete

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests reproduction benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
