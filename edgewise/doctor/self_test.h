// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "edgewise/doctor/comparison.h"

// A self-test of this machine: products, attention and decoding with fixed numbers, with the instruction set in force
// and on num_threads() threads. It takes about a second on one core.

namespace edgewise {

struct SelfTest {
  std::string_view name;
  Finding (*run)();
};

std::span<const SelfTest> self_tests();

/// Runs a test. An exception is a wrong result, but too little memory is not: throws std::bad_alloc.
Finding run_self_test(const SelfTest& test);

}  // namespace edgewise
