# Needs make and a Python 3.10 to 3.13; everything else is installed into .venv by the first run.
# PYTHON=/path/to/python3.12 chooses the Python, ARGS="..." passes options on.

.DEFAULT_GOAL := help
.PHONY: help environment setup serve test check bench bench-peers perf-analyzer clean

BIN := .venv/bin
CLASSIFIER := model_repository/classifier/1/model.onnx
PACKAGES := ensemble preprocess classifier postprocess tools benchmarks
CHECKS := tests/test_arrows.py tests/test_rendered_repository.py tests/test_project.py
export PYTHON

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 15

setup: environment $(CLASSIFIER) ## install everything into .venv, build the example classifier

environment:
	@sh tools/setup.sh

$(CLASSIFIER): | environment
	@$(BIN)/python -m tools.example --out $@

serve: setup ## run the server on this machine: make serve ARGS="--profile bulk"
	@$(BIN)/tandem serve $(ARGS)

test: setup ## run every test, those on the real server too: make test ARGS="-k labels"
	@$(BIN)/python -m pytest $(ARGS)

check: setup ## lint, types, import arrows, rendered configurations, Dockerfile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES)
	$(BIN)/python -m pytest -q $(CHECKS)
	$(BIN)/hadolint Dockerfile

bench: setup ## measure the server against its in-process limit, on this machine
	@$(BIN)/python -m benchmarks $(ARGS)

perf-analyzer: setup ## get NVIDIA's perf_analyzer for 'tandem bench --engine perf_analyzer'
	@$(BIN)/python -m tools.perf_analyzer

bench-peers: setup ## measure it beside other servers, each in an environment of its own
	@$(BIN)/python -m benchmarks.peers $(ARGS)

clean: ## remove what these targets made, .venv too
	rm -rf .venv .tandem .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
