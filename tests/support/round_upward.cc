// SPDX-License-Identifier: Apache-2.0
// A library that a test loads into a program before all others. It lets the processor round sums upward, as if the
// processor computed wrongly.
#include <cfenv>

namespace {
[[gnu::constructor]] void round_upward() { std::fesetround(FE_UPWARD); }
}  // namespace
