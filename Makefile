# Every target sets up what it needs in .venv by itself: Python 3.11+, git and make are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Few of the files that come are ever imported: Python compiles those that are, as it goes. Empty is
# unset: it does so once, and not in each process that a test starts.
GET    := install --quiet --disable-pip-version-check --no-compile --constraint
PIP    := $(BIN)/pip $(GET) constraints.txt
export PYTHONDONTWRITEBYTECODE :=
# What extras ask for is fetched while a second pip has the kernel compiled.
ASKED   = $(shell $(BIN)/python -c 'import pathlib, shlex, tomllib; \
	project = tomllib.loads(pathlib.Path("pyproject.toml").read_text(encoding="utf-8"))["project"]; \
	extras = [project["optional-dependencies"][name] for name in "$(1)".split()]; \
	print(shlex.join(sum(extras, project["dependencies"])))')
INSTALL = $(PIP) --no-warn-conflicts $(call ASKED,$(1)) $(2) & fetching=$$!; \
	$(PIP) --no-deps --editable . && wait $$fetching
FILES  := pyproject.toml setup.py $(wildcard src/surefoot/kernel/*.c src/surefoot/kernel/c/*.h) constraints.txt
# Without a C compiler the installation succeeds, Python plays, and one line says so.
SAY    := $(BIN)/python -c 'import surefoot.kernel as k; k.compiled() or print(k.sentence())'
# One thread for each of the two workers: libraries that start more only get in each other's way.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal
# XLA's emitters of fused loops, LLVM's optimiser, and pieces that are compiled apart, double the
# time of a compilation, for a few rounds of a few numbers.
QUICK  := XLA_FLAGS='--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 \
	--xla_cpu_parallel_codegen_split_count=1'
# Attacks on what is certified: as many processes as processors, one thread each.
SOAK   := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks
# What any machine can run; the rest needs PyTorch, a cluster, a browser, other libraries or Sphinx.
HERE   := not torch and not cluster and not browser and not hosts and not cases and not docs

# Simulators and data of the cases are in environments of their own, those with PyTorch in a second.
LIGHT  := $(patsubst cases/%/requirements.txt,%,$(shell grep -L '^torch' cases/*/requirements.txt))
HEAVY  := $(patsubst cases/%/requirements.txt,%,$(shell grep -l '^torch' cases/*/requirements.txt))
CASES  := $(VENV)-cases/bin/pip $(GET) cases/constraints.txt
# The short version of each case, and the tests of those that its environment can play.
PLAY    = set -e; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; \
	printf '%s\n' $(2) | xargs -P 2 -I{} sh -c 'said=$$($(1)/bin/python -m cases.{} --small) && echo "{}:\n$$said"'; \
	$(1)/bin/pytest -q -n 2 -m cases $(3)

# Types take one core for a while and the tests have a tail: side by side they are done sooner.
BESIDE := $(MAKE) --no-print-directory --jobs 2

.DEFAULT_GOAL := help
.PHONY: help demo lint types fast here test coverage test-all check docs constants playground table1 related alternatives cases cases-ci cases-torch gallery bench soak evidence front-check fuzz wheel clean

help: ## show this list
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/pip.stamp: | $(BIN)/python
	$(PIP) --upgrade pip  # which must know --group
	@touch $@

# What is installed is remembered by a stamp file for each group, renewed when the pins change.
$(VENV)/demo.stamp: $(FILES) | $(BIN)/python
	$(call INSTALL,cli plot)
	@$(SAY)
	@touch $@

$(VENV)/bench.stamp: $(FILES) | $(VENV)/pip.stamp
	$(PIP) --editable '.[cli,jax,plot,solve]' --group bench
	@touch $@

$(VENV)/build.stamp: $(FILES) | $(VENV)/pip.stamp
	$(PIP) build setuptools
	@touch $@

$(VENV)/dev.stamp: $(FILES) | $(VENV)/pip.stamp
	$(call INSTALL,cli plot solve export jax,--group dev)
	@$(SAY)
	@touch $@

$(VENV)/docs.stamp: $(FILES) | $(VENV)/pip.stamp
	$(PIP) --editable '.[cli]' --group docs
	@touch $@

$(VENV)/all.stamp: $(VENV)/dev.stamp
	$(PIP) 'surefoot[all]' --group browser --group hosts --group docs
	@touch $@

$(VENV)/rivals.stamp: $(VENV)/bench.stamp
	$(PIP) 'surefoot[gymnasium,torch]' --group rivals --group hosts
	@touch $@

$(VENV)-cases/packages.stamp: cases/constraints.txt $(LIGHT:%=cases/%/requirements.txt)
	$(PYTHON) -m venv $(VENV)-cases
	$(CASES) pytest pytest-xdist $(LIGHT:%=--requirement cases/%/requirements.txt)
	@touch $@

$(VENV)-cases/stamp: $(FILES) $(VENV)-cases/packages.stamp
	$(CASES) --editable '.[cli,plot,solve]'
	@touch $@

$(VENV)-cases-torch/stamp: $(FILES) $(HEAVY:%=cases/%/requirements.txt)
	$(PYTHON) -m venv $(VENV)-cases-torch
	$(VENV)-cases-torch/bin/pip $(GET) constraints.txt --editable '.[cli,plot,solve]' pytest pytest-xdist $(HEAVY:%=--requirement cases/%/requirements.txt)
	@touch $@

demo: ## reproduce the paper's experiment: verdicts, figures and a page in out/reproduction
	@echo 'about a minute on two idle cores, installation included'
	@$(MAKE) --no-print-directory $(VENV)/demo.stamp
	$(BIN)/surefoot reproduce

check: lint ## lint, types, import contract, fast tests: before each commit
	@$(BESIDE) types fast

test: lint ## lint, types, and all tests that need neither torch, nor a cluster, nor a browser
	@$(BESIDE) types here

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

fast: $(VENV)/dev.stamp
	$(QUICK) $(PYTEST) -q -m 'not slow and $(HERE)'

here: $(VENV)/dev.stamp
	$(QUICK) $(PYTEST) -m '$(HERE)'

coverage: $(VENV)/dev.stamp ## line coverage of the fast tests (takes twice as long)
	$(QUICK) $(PYTEST) -q -m 'not slow and $(HERE)' --cov --cov-report=term

test-all: $(VENV)/all.stamp ## what `make test` leaves out: torch, cluster, browser, hosts, docs
	$(PYTEST) -m 'compiled or torch or cluster or browser or hosts or docs'

constants: $(BIN)/python ## write the constants of the kernel's table into its C text and the Python text
	$(BIN)/python tests/kernel/constants.py

playground: ## compile the playground's leader and follower anew; needs clang and lld
	$(PYTHON) docs/playground/wasm/build.py

docs: $(VENV)/docs.stamp ## build the site into out/site; warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -j 2 -d build/doctrees docs out/site
	@echo 'open out/site/index.html'

table1: $(VENV)/bench.stamp ## measure the paper's Table 1: every row with its own theorem (long)
	mkdir -p out
	test -e out/table1.toml || $(BIN)/surefoot new out/table1.toml --like table1
	$(BIN)/surefoot run out/table1.toml

related: $(VENV)/bench.stamp ## every related system on the problems it is made for, into docs/related.md (minutes)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.related docs/related.md

alternatives: $(VENV)/rivals.stamp ## what people use instead, on the same tasks, into docs/alternatives.md (minutes)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.alternatives

cases: $(VENV)-cases/stamp $(VENV)-cases-torch/stamp ## short versions of all cases, and their tests, in environments of their own
	@$(BESIDE) cases-ci cases-torch

cases-ci: $(VENV)-cases/stamp ## those of them that need no PyTorch
	@$(call PLAY,$(VENV)-cases,$(LIGHT),cases); $(VENV)-cases/bin/pytest -q --noconftest tests/adapters/test_pandapower.py

cases-torch: $(VENV)-cases-torch/stamp
	@$(call PLAY,$(VENV)-cases-torch,$(HEAVY),$(HEAVY:%=cases/%))

gallery: $(VENV)/demo.stamp ## write docs/cases.md and cases/README.md from the READMEs of the cases
	$(BIN)/python -m cases.gallery

bench: $(VENV)/bench.stamp ## measure speed against hand-written code, C, JAX and QP solvers, into out/bench
	$(BIN)/python -m benchmarks

soak: $(VENV)/demo.stamp ## attack certified rules for 10^8 rounds: none may violate (long)
	$(SOAK).soak_kernel --rounds 1e8
	$(SOAK).soak
	$(SOAK).hostile
	$(SOAK).soak_regions
	$(SOAK).soak_errors --rounds 1e6
	$(SOAK).soak_errors --rounds 2e5 --factor 3
	$(SOAK).soak_aimed --rounds 5e5
	$(SOAK).soak_knowledge --actions 1e5
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.composition

evidence: $(VENV)/demo.stamp ## soak the kernel and every kind of knowledge, record it with its commit (ten minutes)
	$(SOAK).soak_kernel --rounds 1e8 --stamp
	$(SOAK).soak_knowledge --actions 1e5 --stamp
	$(BIN)/python -m benchmarks.evidence --write

front-check: $(VENV)/demo.stamp ## check the records of evidence/ and their table; RELEASE=1: all must be current
	$(BIN)/python -m benchmarks.evidence $(if $(RELEASE),--release)

fuzz: $(VENV)/dev.stamp ## call everything public with anything, 10^5 times; damage 10^3 files; forge every part of states (minutes)
	mkdir -p build && $(CC) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -std=c99 \
		-ffp-contract=off -Isrc/surefoot/kernel/c tests/kernel/_fuzz.c -o build/fuzz -lm && build/fuzz 1000000
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.controller.forging
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/attack/damage.py
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/attack/fuzz.py

wheel: $(VENV)/build.stamp ## build the source archive, a wheel of it, and try that in a fresh environment
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --quiet --no-isolation --outdir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip $(GET) constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/python -I ../../tests/smoke.py

clean: ## remove everything that the other targets made
	rm -rf $(VENV) $(VENV)-cases* build dist out .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	rm -f src/surefoot/kernel/*.so src/surefoot/kernel/*.pyd
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
