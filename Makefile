# SPDX-License-Identifier: Apache-2.0
# The commands of this project. Every target installs what it needs on its first call. `make help` lists the targets by
# the group that a comment behind a target names: `## group: what the target does`.
# CUDA=1 builds the preset cuda, in build-cuda/, and installs what it needs.
ifeq ($(CUDA),1)
preset := cuda
folder := build-cuda
groups := train test cuda
else
preset := release
folder := build
groups :=
endif
space := $(subst ,, )
# The regular expression of the tests of CTest with these names.
regex_of = ^($(subst $(space),|,$(strip $(1))))$$
thread_programs = $(or $(PROGRAMS),threads server_threads train_threads device)

.PHONY: help build demo serve test doctor edgewise all setup setup-train setup-all test-full test-pages gallery \
  python-wheel python-models-wheel python-train-wheel test-python test-torch test-train test-sanitized test-threads \
  check-gpu-emulated compile-cuda fuzz lint-tools format format-check tidy bench-kernels bench-peers packages \
  check-packages gpu-bundle release clean

build: setup  ## start: build the programs that translate and serve: build/edgewise-translate, build/edgewise-server
	@scripts/build $(preset) edgewise-translate edgewise-server

demo: edgewise  ## start: train an English-French model, score it, translate a few sentences (minutes)
	@scripts/demo

serve: edgewise  ## start: serve the demo's model at http://127.0.0.1:5000 until Ctrl-C
	@scripts/serve

test: all  ## start: build everything and run the tests; CUDA=1 runs those in build-cuda/
	@ctest --test-dir $(folder) --output-on-failure --parallel "$$(nproc)" --label-exclude full

help:  ## start: list all targets
	@for group in start build "train and serve" test check benchmark package; do \
	  [ "$$group" = start ] || printf '\n%s\n' "$$group"; \
	  sed -nE "s/^([a-z-]+):.*## $$group: /  \1\t/p" Makefile | expand -t 24; \
	done

doctor: setup  ## build: build the program that describes and tests a machine: build/edgewise-doctor
	@scripts/build release edgewise-doctor

edgewise: setup-train  ## build: build the program that trains, imports models and draws: build/edgewise; CUDA=1
	@scripts/build $(preset) edgewise

all: setup-all  ## build: build all programs, examples and tests; CUDA=1 builds them in build-cuda/, with NCCL
	@scripts/build $(preset)

setup:
	@scripts/setup $(groups)

setup-train:
	@scripts/setup train $(groups)

setup-all:  ## build: install Debian packages for everything, and libtorch into .venv
	@scripts/setup train test $(groups)

gallery: edgewise  ## train and serve: draw docs/gallery again from the demo's model; installs Chromium
	@scripts/setup pages
	@scripts/gallery

test-full: all  ## test: run the tests and those that take minutes
	@ctest --test-dir $(folder) --output-on-failure --parallel "$$(nproc)"

test-pages: all  ## test: install Chromium and validators, and test pages and drawings with them
	@scripts/setup pages
	@build/tests/viz/test_viz --gtest_brief=1
	@build/tests/apps/test_apps --gtest_brief=1 --gtest_filter='Picture*'
	@build/tests/server/test_server --gtest_brief=1 --gtest_filter='Page*'

test-python: python-wheel python-models-wheel edgewise  ## test: test wheels in new environments: PYTHONS="3.10 3.13"
	@EDGEWISE_PYTHONS="$(PYTHONS)" scripts/test_python

test-torch: python-wheel  ## test: test edgewise.torch; installs gigabytes of PyTorch: PYTHONS="3.10 3.13"
	@EDGEWISE_PYTHONS="$(PYTHONS)" scripts/test_python_torch

test-train: python-wheel python-train-wheel  ## test: install both wheels beside libtorch, and train from Python
	@scripts/test_python_train

test-sanitized: setup-all  ## test: run the tests under AddressSanitizer and UBSan: LAYERS="graph ops"
	@scripts/build asan $(addprefix test_,$(LAYERS))
	@ctest --test-dir build-asan --output-on-failure --parallel "$$(nproc)" --label-exclude full \
	  $(if $(LAYERS),--tests-regex '$(call regex_of,$(LAYERS))')

test-threads: setup-all  ## test: run the tests of code with threads under ThreadSanitizer: PROGRAMS="threads device"
	@scripts/build tsan $(addprefix test_,$(thread_programs))
	@ctest --test-dir build-tsan --output-on-failure --tests-regex '$(call regex_of,$(thread_programs))'

check-gpu-emulated: all  ## test: run all steps of scripts/gpu_check without a GPU, in the emulator
	@scripts/gpu_check --emulated

check-packages: setup-all  ## test: install packages in a clean Debian; needs root, debootstrap, systemd-nspawn
	@MAINTAINER="$(MAINTAINER)" scripts/make_packages deb archive
	@scripts/build release edgewise
	@tests/install/check_packages

fuzz: setup-all  ## test: feed altered files to all readers of files, SECONDS=600 for each; needs clang
	@scripts/fuzz $(or $(SECONDS),600)

lint-tools:
	@scripts/setup lint

format: lint-tools  ## check: format all sources with clang-format 14
	@git ls-files '*.h' '*.cc' '*.cpp' '*.cu' | xargs clang-format-14 -i

format-check: lint-tools  ## check: check sources, comments, help texts, tests, links and the picture of the layers
	@git ls-files '*.h' '*.cc' '*.cpp' '*.cu' | xargs clang-format-14 --dry-run -Werror
	@scripts/check_prose --self-test
	@scripts/check_prose
	@scripts/check_tests
	@scripts/gpu_check --self-test
	@scripts/gpu_table --self-test
	@scripts/affected --self-test
	@python3 bench/length_tasks.py
	@scripts/draw_layers --check
	@scripts/check_links --self-test
	@scripts/check_links

tidy: lint-tools setup-all  ## check: run clang-tidy over the library and examples: LAYERS="graph ops"
	@scripts/tidy $(LAYERS)

compile-cuda:  ## check: compile the kernels for GPUs with nvcc, and print their registers; does nothing without nvcc
	@scripts/compile_cuda --table

bench-kernels: setup-all  ## benchmark: build the benchmarks of single kernels and run each once, at its smallest size
	@scripts/bench_kernels

bench-peers: edgewise  ## benchmark: compare speed with PyTorch, DGL and others: INPUT=corpus.en OUTPUT=corpus.de
	@bench/peers/run $(if $(INPUT),--input "$(INPUT)") $(if $(OUTPUT),--output "$(OUTPUT)")

python-wheel:  ## package: build the wheel of the Python package, dist/edgewise-*.whl, and check it
	@scripts/python_wheel

python-train-wheel:  ## package: build the wheel of the program that trains, dist/edgewise_train-*.whl, and check it
	@scripts/python_train_wheel

python-models-wheel:  ## package: build the wheel of the models, dist/edgewise_models-*.whl
	@scripts/python_models_wheel

packages: setup-train  ## package: build packages in packages/: KINDS="deb archive" MAINTAINER="Name <address>"
	@MAINTAINER="$(MAINTAINER)" scripts/make_packages $(KINDS)

gpu-bundle:  ## package: pack scripts/gpu_check for a machine with a GPU, 2.4 GB of downloads; EMULATED=1: a trial
	@scripts/gpu_bundle $(if $(EMULATED),--emulated)

release: setup-train  ## package: make a release in dist/release/: MAINTAINER="Name <address>"; OPTIONS=--draft: a trial
	@MAINTAINER="$(MAINTAINER)" scripts/release $(OPTIONS)

clean:  ## build: delete all build folders, packages/, demo/ and dist/; .venv stays
	@rm -rf build build-asan build-tsan build-fuzz build-packages build-tidy build-cuda
	@rm -rf build-python build-python-models build-python-train
	@rm -rf demo dist packages
