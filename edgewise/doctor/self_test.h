// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

// A self-test of this machine: decoding with a small Transformer of fixed random weights in each precision, with the
// instruction set in use and on num_threads() threads. It takes a fraction of a second on one core.

namespace edgewise {

/// The result of a test: whether the numbers are right, and a sentence about them.
struct Finding {
  bool is_right = false;
  std::string text;
};

struct SelfTest {
  std::string_view name;
  Finding (*run)();
};

std::span<const SelfTest> self_tests();

/// Runs a test. An exception is a wrong result, but too little memory is not: throws std::bad_alloc.
Finding run_self_test(const SelfTest& test);

inline constexpr std::string_view kFixedModelDigest =
    "6998ec624abd08b8e8087765c95fdd815ee4e48de1564185894d171b65cf7693";

TransformerOptions fixed_model_options();

/// Returns the parameters, whose file has the same bytes on every machine, with the SHA-256 kFixedModelDigest.
SafetensorsFile fixed_model_parameters();

/// Returns the options with which the expected outputs were found.
SearchOptions fixed_search_options();

/// An input, and the best output of the model in double.
struct FixedOutput {
  Tokens input;
  Tokens output;
  double log_probability;  // the sum over the output and its end token
};

const std::vector<FixedOutput>& fixed_outputs();

}  // namespace edgewise
