// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>

namespace edgewise {

/// Calls body() and returns the messages of the expectations that fail in it, which are no failures of the test. A
/// property of RapidCheck fails with this text: `if (!text.empty()) RC_FAIL(text)`. A recorded failure would remain
/// while RapidCheck looks for the smallest failing case, and each smaller case would seem to fail.
template <class Body>
std::string failures_of(Body body) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    body();
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) {
    const testing::TestPartResult& result = results.GetTestPartResult(i);
    if (result.failed()) text += std::string(result.message()) + "\n";
  }
  return text;
}

}  // namespace edgewise
