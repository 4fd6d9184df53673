// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/backend.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/ops/dropout.h"

namespace edgewise {
namespace {

TEST(GpuKernels, GetTensorsAtAnyAddress) {
  const at::Tensor all = at::randn({100});
  const at::Tensor after_the_first = all.narrow(0, 1, 99);

  const at::Tensor result = dropout(after_the_first, 0.5, {.seed = 3, .stream = 5});

  EXPECT_TRUE(at::equal(result, dropout_plain(after_the_first, 0.5, {.seed = 3, .stream = 5})));
}

TEST(GpuKernels, GetAlignedCopiesOnlyOfTensorsThatNeedThem) {
  const at::Tensor aligned = at::ones({100});
  EXPECT_EQ(aligned_contiguous(aligned).data_ptr(), aligned.data_ptr());
  EXPECT_FALSE(aligned_contiguous({}).defined());

  const at::Tensor after_the_first = aligned.narrow(0, 1, 99);
  const bool is_copy = aligned_contiguous(after_the_first).data_ptr() != after_the_first.data_ptr();
  EXPECT_EQ(is_copy, backend_of(aligned) == Backend::kGpu);
}

TEST(GpuKernels, AreNotForNumbersOfFp64) { EXPECT_NE(backend_of(at::ones({1}, at::kDouble)), Backend::kGpu); }

TEST(OperationsDeathTest, AnUnknownNameInTheEnvironmentIsAnErrorThatListsTheKnownNames) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("EDGEWISE_OPERATIONS", "fast", /*overwrite=*/1);
        try {
          backend_of(at::ones({1}));
        } catch (const Error& error) {
          std::fputs(error.what(), stderr);
          std::exit(2);
        }
      },
      testing::ExitedWithCode(2), "EDGEWISE_OPERATIONS is 'fast', needs definition, cuda-emulated, or nothing");
}

}  // namespace
}  // namespace edgewise
