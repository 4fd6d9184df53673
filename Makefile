# SPDX-License-Identifier: Apache-2.0
# The front door. Every target does its own set-up, and a second call finds it done.
.PHONY: help setup build demo test test-pages gallery test-sanitized fuzz lint-tools format format-check tidy \
  bench-peers clean

help:  ## list what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup:  ## install Debian packages, and libtorch into .venv
	@scripts/setup

build: setup  ## build the program at build/edgewise and all tests
	@scripts/build release

demo: setup  ## train English-French on real sentences, score it, translate a few (minutes)
	@scripts/build release edgewise
	@scripts/demo

test: build  ## build and run all tests
	@ctest --test-dir build --output-on-failure --parallel "$$(nproc)"

test-pages: build  ## install Chromium and checkers, and test pages and drawings with them
	@scripts/setup pages
	@build/tests/viz/test_viz --gtest_brief=1
	@build/tests/apps/test_apps --gtest_brief=1 --gtest_filter='Picture*'

gallery: setup  ## make docs/gallery anew from the demo's model; installs Chromium
	@scripts/setup pages
	@scripts/build release edgewise
	@scripts/gallery

test-sanitized: setup  ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/build asan
	@ctest --test-dir build-asan --output-on-failure --parallel "$$(nproc)" $(TESTS)

fuzz: setup  ## read altered files until one is read wrongly, SECONDS=600 for each of five readers; needs clang
	@scripts/fuzz $(or $(SECONDS),600)

lint-tools:
	@scripts/setup lint

format: lint-tools  ## format all sources with clang-format 14
	@git ls-files '*.h' '*.cc' '*.cpp' | xargs clang-format-14 -i

format-check: lint-tools  ## say which sources are not formatted
	@git ls-files '*.h' '*.cc' '*.cpp' | xargs clang-format-14 --dry-run -Werror

tidy: lint-tools  ## run clang-tidy over the library and examples
	@scripts/tidy

bench-peers: setup  ## compare with what people use instead: make bench-peers INPUT=corpus.en OUTPUT=corpus.de
	@scripts/build release edgewise
	@bench/peers/run $(if $(INPUT),--input "$(INPUT)") $(if $(OUTPUT),--output "$(OUTPUT)")

clean:  ## remove what was built; .venv stays
	@rm -rf build build-asan build-tsan build-fuzz build-tidy demo
