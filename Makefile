# SPDX-License-Identifier: Apache-2.0
# The commands of this project. Every target installs what it needs on its first call.
# CUDA=1 builds the preset cuda, in build-cuda/, and installs what it needs.
ifeq ($(CUDA),1)
preset := cuda
folder := build-cuda
groups := cuda
else
preset := release
folder := build
groups :=
endif
space := $(subst ,, )

.PHONY: help setup build demo serve test test-pages gallery python-wheel python-models-wheel python-train-wheel \
  test-python test-torch test-train test-sanitized test-threads check-gpu-emulated compile-cuda fuzz lint-tools format \
  format-check tidy bench-kernels bench-peers packages check-packages clean

help:  ## list all targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 21

setup:  ## install Debian packages, and libtorch into .venv
	@scripts/setup $(groups)

build: setup  ## build the program, build/edgewise, and all tests; CUDA=1 builds them in build-cuda/, with NCCL
	@scripts/build $(preset)

demo: setup  ## train an English-French model, score it, translate a few sentences (minutes)
	@scripts/build release edgewise
	@scripts/demo

serve: setup  ## serve the demo's model at http://127.0.0.1:5000 until Ctrl-C
	@scripts/build release edgewise
	@scripts/serve

test: build  ## build and run all tests; CUDA=1 runs those in build-cuda/
	@ctest --test-dir $(folder) --output-on-failure --parallel "$$(nproc)"

test-pages: build  ## install Chromium and validators, and test pages and drawings with them
	@scripts/setup pages
	@build/tests/viz/test_viz --gtest_brief=1
	@build/tests/apps/test_apps --gtest_brief=1 --gtest_filter='Picture*'
	@build/tests/server/test_server --gtest_brief=1 --gtest_filter='Page*'

gallery: setup  ## draw docs/gallery again from the demo's model; installs Chromium
	@scripts/setup pages
	@scripts/build release edgewise
	@scripts/gallery

python-wheel: setup  ## build the wheel of the Python package, dist/edgewise-*.whl, and check it
	@scripts/python_wheel

python-train-wheel: setup  ## build the wheel of the program that trains, dist/edgewise_train-*.whl, and check it
	@scripts/python_train_wheel

python-models-wheel: setup  ## build the wheel of the models, dist/edgewise_models-*.whl
	@scripts/python_models_wheel

test-python: setup python-wheel python-models-wheel  ## test both wheels in new environments: PYTHONS="3.10 3.13"
	@scripts/build release edgewise
	@EDGEWISE_PYTHONS="$(PYTHONS)" scripts/test_python

test-torch: setup python-wheel  ## test edgewise.torch; installs gigabytes of PyTorch: PYTHONS="3.10 3.13"
	@EDGEWISE_PYTHONS="$(PYTHONS)" scripts/test_python_torch

test-train: setup python-wheel python-train-wheel  ## install both wheels beside libtorch, and train from Python
	@scripts/test_python_train

test-sanitized: setup  ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer: LAYERS="graph ops"
	@scripts/build asan $(addprefix test_,$(LAYERS))
	@ctest --test-dir build-asan --output-on-failure --parallel "$$(nproc)" \
	  $(if $(LAYERS),--tests-regex '^($(subst $(space),|,$(strip $(LAYERS))))$$')

check-gpu-emulated: build  ## run all steps of scripts/gpu_check without a GPU, in the emulator
	@scripts/gpu_check --emulated

test-threads: setup  ## run the tests of code with threads under ThreadSanitizer
	@scripts/build tsan test_threads test_server_threads test_device
	@ctest --test-dir build-tsan --output-on-failure --tests-regex '^((server_)?threads|device)$$'

fuzz: setup  ## feed altered files to all readers of files, SECONDS=600 for each; stops at a finding; needs clang
	@scripts/fuzz $(or $(SECONDS),600)

lint-tools:
	@scripts/setup lint

format: lint-tools  ## format all sources with clang-format 14
	@git ls-files '*.h' '*.cc' '*.cpp' '*.cu' | xargs clang-format-14 -i

format-check: lint-tools  ## check the format of sources, comments, help texts, tests and the picture of the layers
	@git ls-files '*.h' '*.cc' '*.cpp' '*.cu' | xargs clang-format-14 --dry-run -Werror
	@scripts/check_prose --self-test
	@scripts/check_prose
	@scripts/check_tests
	@scripts/gpu_check --self-test
	@scripts/gpu_table --self-test
	@scripts/draw_layers --check

tidy: lint-tools  ## run clang-tidy over the library and examples
	@scripts/tidy

compile-cuda:  ## compile the kernels for GPUs with nvcc, and print their registers; does nothing without nvcc
	@scripts/compile_cuda --table

bench-kernels: setup  ## build the benchmarks of single kernels and run each once, at its smallest size
	@scripts/bench_kernels

bench-peers: setup  ## compare speed with PyTorch, DGL and CTranslate2: INPUT=corpus.en OUTPUT=corpus.de
	@scripts/build release edgewise
	@bench/peers/run $(if $(INPUT),--input "$(INPUT)") $(if $(OUTPUT),--output "$(OUTPUT)")

packages: setup  ## build packages for other machines in packages/: KINDS="deb archive" MAINTAINER="Name <address>"
	@MAINTAINER="$(MAINTAINER)" scripts/make_packages $(KINDS)

check-packages: setup  ## install packages in a clean Debian and translate; needs root, debootstrap, systemd-nspawn
	@MAINTAINER="$(MAINTAINER)" scripts/make_packages deb archive
	@scripts/build release edgewise
	@tests/install/check_packages

clean:  ## delete all build folders, packages/, demo/ and dist/; .venv stays
	@rm -rf build build-asan build-tsan build-fuzz build-packages build-tidy build-cuda
	@rm -rf build-python build-python-models build-python-train
	@rm -rf demo dist packages
