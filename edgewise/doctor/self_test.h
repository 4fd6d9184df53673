// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

// A self-test of this machine: decoding with the fixed model in each precision, with the instruction set in force and
// on num_threads() threads. It takes a fraction of a second on one core.

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

}  // namespace edgewise
