// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/gradient_sum.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/ops/optimiser.h"
#include "tests/distributed/process_threads.h"
#include "tests/support/emulated_kernels.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

constexpr std::int64_t kFewElements = 13;
constexpr std::int64_t kMoreThanABucket = (1 << 20) + 5;  // more than a bucket

at::Tensor normal_numbers(std::int64_t size, std::int64_t seed) {
  return at::randn({size}, at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed)), at::kFloat);
}

/// Returns the gradients of a virtual rank, of parameters of three buckets.
std::vector<at::Tensor> gradients_of(std::int64_t rank) {
  return {normal_numbers(kMoreThanABucket, 10 * rank + 1), normal_numbers(kFewElements, 10 * rank + 2),
          normal_numbers(kMoreThanABucket, 10 * rank + 3)};
}

at::Tensor zeros_to_train(std::int64_t size) { return at::zeros({size}).set_requires_grad(true); }

/// The sum of virtual ranks, and its norm.
struct Sum {
  std::vector<at::Tensor> gradients;
  double norm = 0.0;
};

/// Sums the gradients of `ranks` virtual ranks in a process.
Sum sum_in_process(ProcessGroup& processes, std::int64_t ranks, GradientExchange exchange, bool is_overlapped) {
  const NumThreadsScope one_thread(1);
  const std::vector<NamedTensor> named = {{"a", zeros_to_train(kMoreThanABucket)},
                                          {"b", zeros_to_train(kFewElements)},
                                          {"c", zeros_to_train(kMoreThanABucket)}};
  const FlatParameters parameters(named, ranks);
  const OwnedPieces pieces(parameters, processes);
  GradientSum sum(parameters, pieces, exchange);
  const std::int64_t count = ranks / processes.size();
  for (int step = 0; step < 2; ++step) {  // the second step finds nothing of the first
    sum.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<at::Tensor> gradients = gradients_of(processes.rank() * count + i + 100 * step);
      for (std::size_t p = named.size(); p-- > 0;) {
        named[p].tensor.mutable_grad().add_(gradients[p]);
        if (is_overlapped && i + 1 == count) sum.exchange_from(parameters.parameters()[p].range.begin);
      }
      if (i + 1 < count) sum.end_virtual_rank();
    }
    sum.finish();
  }
  Sum result{.gradients = {}, .norm = std::sqrt(sum.sum_of_squares().item<double>())};
  pieces.share(parameters.gradients());
  for (const NamedTensor& parameter : named) result.gradients.push_back(parameter.tensor.grad());
  return result;
}

/// Sums in several processes, which must all have the result.
Sum sum_in_processes(std::int64_t size, std::int64_t ranks, GradientExchange exchange, bool is_overlapped = false) {
  std::vector<Sum> results(static_cast<std::size_t>(size));
  run_as_processes(size, [&](ProcessGroup& processes) {
    results[static_cast<std::size_t>(processes.rank())] = sum_in_process(processes, ranks, exchange, is_overlapped);
  });
  for (const Sum& other : results) {
    EXPECT_EQ(other.norm, results[0].norm);
    for (std::size_t p = 0; p < other.gradients.size(); ++p) {
      EXPECT_TRUE(other.gradients[p].equal(results[0].gradients[p])) << p;
    }
  }
  return results[0];
}

/// Returns the sum of ranks `first` to `first + count - 1` by the definition of the tree.
at::Tensor tree_sum(std::int64_t first, std::int64_t count, std::int64_t ranks, std::size_t parameter,
                    bool is_rounded) {
  const at::Tensor sum = count == 1 ? gradients_of(first + 100)[parameter]
                                    : tree_sum(first, count / 2, ranks, parameter, is_rounded) +
                                          tree_sum(first + count / 2, count / 2, ranks, parameter, is_rounded);
  return is_rounded && count < ranks ? sum.to(at::kBFloat16).to(at::kFloat) : sum;
}

class GradientSumTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(GradientSumTest, IsAFixedTreeOfVirtualRanksInAnyNumberOfProcesses) {
  const std::int64_t ranks = GetParam();
  for (const GradientExchange exchange : {GradientExchange::kFp32, GradientExchange::kBf16}) {
    for (std::int64_t size = 1; size <= ranks; size *= 2) {
      const Sum sum = sum_in_processes(size, ranks, exchange);
      for (std::size_t p = 0; p < sum.gradients.size(); ++p) {
        EXPECT_TRUE(sum.gradients[p].equal(tree_sum(0, ranks, ranks, p, exchange == GradientExchange::kBf16)))
            << size << " processes, parameter " << p;
      }
    }
  }
}

TEST_P(GradientSumTest, HasTheSameBitsIfItIsExchangedDuringTheBackwardPass) {
  const std::int64_t ranks = GetParam();
  for (std::int64_t size = 1; size <= ranks; size *= 2) {
    const Sum plain = sum_in_processes(size, ranks, GradientExchange::kFp32);
    const Sum overlapped = sum_in_processes(size, ranks, GradientExchange::kFp32, /*is_overlapped=*/true);
    EXPECT_EQ(overlapped.norm, plain.norm);
    for (std::size_t p = 0; p < plain.gradients.size(); ++p) {
      EXPECT_TRUE(overlapped.gradients[p].equal(plain.gradients[p])) << size << " processes, parameter " << p;
    }
  }
}

TEST_P(GradientSumTest, HasANormThatDoesNotDependOnTheProcesses) {
  const std::int64_t ranks = GetParam();
  const Sum alone = sum_in_processes(1, ranks, GradientExchange::kFp32);
  const double expected = at::cat(alone.gradients).to(at::kDouble).norm().item<double>();
  EXPECT_NEAR(alone.norm, expected, 1e-6 * expected);
  for (std::int64_t size = 2; size <= ranks; size *= 2) {
    EXPECT_EQ(sum_in_processes(size, ranks, GradientExchange::kFp32).norm, alone.norm) << size;
  }
}

TEST_P(GradientSumTest, HasItsNormOnGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  const Sum expected = sum_in_processes(GetParam(), GetParam(), GradientExchange::kFp32);
  Sum actual;
  EXPECT_THAT(launched_kernels([&] { actual = sum_in_processes(GetParam(), GetParam(), GradientExchange::kFp32); }),
              testing::ElementsAre("sum_parts", "sum_squares"));
  EXPECT_NEAR(actual.norm, expected.norm, 1e-6 * expected.norm);
}

INSTANTIATE_TEST_SUITE_P(, GradientSumTest, testing::Values(1, 2, 8));

TEST(GradientSum, HasANormThatIsNotFiniteIfAGradientIsNot) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const at::Tensor parameter = zeros_to_train(kFewElements);
    const FlatParameters parameters({{"x", parameter}}, 1);
    const OwnedPieces pieces(parameters, single_process());
    GradientSum sum(parameters, pieces, GradientExchange::kFp32);
    sum.clear();
    parameter.grad().select(0, 3).fill_(bad);
    sum.finish();
    EXPECT_FALSE(std::isfinite(sum.sum_of_squares().item<double>()));
  }
}

TEST(GradientSum, NeedsPowersOfTwo) {
  const FlatParameters parameters({{"x", zeros_to_train(kFewElements)}}, 3);
  const OwnedPieces pieces(parameters, single_process());
  EXPECT_EQ(error_of([&] { GradientSum(parameters, pieces, GradientExchange::kFp32); }),
            "GradientSum: 3 virtual ranks have 1 processes, needs powers of two");
}

TEST(ClipDivisor, BringsTheNormToTheLimit) {
  EXPECT_EQ(clip_divisor(6.5, 1.0), 6.5);
  EXPECT_EQ(clip_divisor(6.5, 6.5), 1.0);
  EXPECT_EQ(clip_divisor(6.5, 7.0), 1.0);
  EXPECT_EQ(clip_divisor(6.5, 0.0), 1.0);
  EXPECT_EQ(clip_divisor(3.0, 1e-300), 3.0 / 1e-300);
}

}  // namespace
}  // namespace edgewise
