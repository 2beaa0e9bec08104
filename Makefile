# Two commands do everything on a fresh machine:
#   make demo            capture, summary, TensorBoard    (SERVE=0: stop before serving; LOGDIR=runs)
#   make test            everything that CI checks
#   make test-thorough   every case of every test of Python (CI: one of two to five where they are many and alike)
PYTHON ?= python3
LOGDIR ?= runs
SERVE  ?= 1
# Test processes: one more than CI's cores, as many tests wait for other processes; what times a loop runs alone. JOBS=0
# runs the tests one after the other, in the process that pytest starts in.
JOBS   ?= 3

VENV := .venv
PY   := $(VENV)/bin/python
# pip would compile all 10,700 files, a minute of one core: Python compiles those that are imported. It keeps them, also
# where the environment (a container's) says that it should not: else each process compiles torch anew, 2 s of CPU.
export PYTHONDONTWRITEBYTECODE :=
PIP  := $(PY) -m pip install -q --disable-pip-version-check --no-compile -c requirements/constraints.txt

ECOSYSTEM_PIP := $(VENV)-ecosystem/bin/python -m pip install -q --disable-pip-version-check

.PHONY: help demo test lint types contracts generate check-generated chromium beside test-python test-thorough test-frontend test-ecosystem bench bench-peers bench-dlio clean

demo: $(VENV)/.demo
	$(PY) examples/demo.py --logdir $(LOGDIR)
	@echo
	@$(VENV)/bin/tb-dataplugin report $(LOGDIR) --summary
	@echo "One of them in full:      $(VENV)/bin/tb-dataplugin report $(LOGDIR)/demo-train"
	@echo "What a GPU waited for:    $(VENV)/bin/tb-dataplugin report $(LOGDIR)/gpu/h100*"
	@echo "Did four workers help?    $(VENV)/bin/tb-dataplugin compare $(LOGDIR)/gpu/v100*workers0* $(LOGDIR)/gpu/v100*workers4*"
	@if [ "$(SERVE)" != 0 ]; then $(PY) scripts/serve.py $(LOGDIR); fi

help:
	@sed -n '1,4s/^# *//p' Makefile

# What is generated comes first: it is written anew, and the others read it. Style, types and the page's own tests come
# beside the tests of Python, which leave a core idle a quarter of the time: last in the queue, so that no test notices.
test:
	@$(MAKE) --no-print-directory -j2 chromium check-generated
	@$(MAKE) --no-print-directory -j2 NICE="nice -n 19" beside test-python
	@echo "make test: everything passed"

lint: $(VENV)/.dev frontend/node_modules/.installed
	$(NICE) $(VENV)/bin/ruff check .
	$(NICE) $(VENV)/bin/ruff format --check .
	cd frontend && $(NICE) ../scripts/npm run --silent lint

# One after the other
beside: lint contracts types
	@$(MAKE) --no-print-directory test-frontend

types: $(VENV)/.dev frontend/node_modules/.installed
	$(NICE) $(VENV)/bin/mypy
	cd frontend && $(NICE) ../scripts/npm run --silent typecheck

contracts: $(VENV)/.dev
	@$(VENV)/bin/lint-imports --no-logo 2>/dev/null || $(VENV)/bin/lint-imports

generate: $(VENV)/.dev frontend/node_modules/.installed
	$(PY) scripts/generate.py

check-generated: $(VENV)/.dev frontend/node_modules/.installed
	$(PY) scripts/generate.py --check

# Debian's package needs no .venv: a machine that lacks both gets them at the same time.
chromium:
	@scripts/chromium

test-python: $(VENV)/.dev chromium
	$(PY) -m pytest -n $(JOBS) --max-worker-restart 0

# Every case of every test; `make test` runs a sample where cases are many and alike.
test-thorough: check-generated chromium
	$(PY) -m pytest -n $(JOBS) --max-worker-restart 0 --thorough

test-frontend: $(VENV)/.dev frontend/node_modules/.installed
	cd frontend && $(NICE) ../scripts/npm run --silent test

# Real libraries beside annotate, in an environment of their own: `make test` neither runs it nor needs it. What it saw
# is in build/ecosystem.jsonl, from which `python -m tests.ecosystem.table` writes docs/ecosystem.md.
test-ecosystem: $(VENV)-ecosystem/.installed
	@mkdir -p build && [ -n "$(ECOSYSTEM_GO_ON)" ] || rm -f build/ecosystem.jsonl
	ECOSYSTEM_RUN=build/ecosystem.jsonl $(VENV)-ecosystem/bin/python -m pytest tests/ecosystem --timeout 120

$(VENV)-ecosystem/.installed: requirements/ecosystem.txt requirements/constraints.txt
	$(PYTHON) -m venv $(VENV)-ecosystem
	$(ECOSYSTEM_PIP) -c requirements/constraints.txt -r requirements/ecosystem.txt
	$(ECOSYSTEM_PIP) -c requirements/constraints.txt --no-deps torchvision timm==1.0.31 mosaicml-streaming==0.13.0 \
		fastai==2.8.12 fastcore==2.2.39 fastdownload==0.0.8 fastprogress==1.1.6 fasttransform==0.0.5 plum-dispatch==2.10.1
	$(ECOSYSTEM_PIP) --no-deps -e .
	@touch $@

bench: $(VENV)/.dev
	$(PY) benchmarks/span_overhead.py
	$(PY) benchmarks/reader.py --copies 10 100
	$(PY) benchmarks/timeline.py --check

# The same reader beside torch_tb_profiler and HTA, which get an environment of their own.
bench-peers: $(VENV)/.dev $(VENV)-peers/.installed
	$(PY) benchmarks/reader.py --copies 10 100 --peers $(VENV)-peers/bin/python

$(VENV)-peers/.installed: requirements/peers.txt
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install -q --disable-pip-version-check -r requirements/peers.txt
	@touch $@

# The data wait beside DLIO's accelerator utilisation; DLIO gets an environment of its own.
bench-dlio: $(VENV)/.dev $(VENV)-dlio/.installed
	$(PY) benchmarks/dlio.py --dlio-python $(VENV)-dlio/bin/python

# What counterfactual_pipelines import, four of which run in DLIO's environment.
BESIDE_DLIO := scipy opencv-python-headless protobuf msgspec isal

$(VENV)-dlio/.installed: requirements/dlio.txt requirements/constraints.txt
	$(PYTHON) -m venv $(VENV)-dlio
	$(VENV)-dlio/bin/python -m pip install -q --disable-pip-version-check -c requirements/constraints.txt torch numpy pillow $(BESIDE_DLIO)
	$(VENV)-dlio/bin/python -m pip install -q --disable-pip-version-check --no-deps -r requirements/dlio.txt
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-dlio $(VENV)-ecosystem frontend/node_modules build dist *.egg-info

$(PY):
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --disable-pip-version-check --upgrade pip

# torchvision publishes no CPU wheel: its CUDA wheel imports on CPU torch (examples/torchvision_cpu.py) if pip does not
# insist on the CUDA torch that it names.
$(VENV)/.demo: $(PY) pyproject.toml requirements/demo.txt requirements/constraints.txt
	$(PIP) -r requirements/demo.txt
	$(PIP) --no-deps torchvision
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.demo requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

frontend/node_modules/.installed: $(VENV)/.dev frontend/package-lock.json
	cd frontend && ../scripts/npm ci --no-audit --no-fund --loglevel=error
	@touch $@
