// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/stop_request.h"
#include "edgewise/distributed/agreement.h"
#include "tests/distributed/process_threads.h"

namespace edgewise {
namespace {

constexpr std::size_t kNumPieces = 7;

std::vector<std::string> texts_of(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::size_t number : numbers) texts.push_back(std::string(number, 'x'));
  return texts;
}

at::Tensor rows_of(const std::vector<std::size_t>& numbers) {
  at::Tensor rows = at::zeros({std::ssize(numbers), 2}, at::kDouble);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    rows[static_cast<std::int64_t>(i)].fill_(0.1 * static_cast<double>(numbers[i]));
  return rows;
}

TEST(SharedWork, HasTheResultsOfOneProcessInEachOfSeveral) {
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6};
  for (const std::int64_t size : {1, 2, 3, 9}) {  // 9: processes without a piece
    run_as_processes(size, [&](ProcessGroup& processes) {
      EXPECT_EQ(share_texts(processes, kNumPieces, texts_of), texts_of(all));
      const at::Tensor rows = share_rows(processes, kNumPieces, rows_of);
      EXPECT_TRUE(rows.equal(rows_of(all)));
      EXPECT_TRUE(rows.is_contiguous());
    });
  }
}

TEST(SharedWork, StopsInAllProcessesIfOneStops) {
  run_as_processes(3, [](ProcessGroup& processes) {
    const auto stop_in_last = [&](const std::vector<std::size_t>& numbers) {
      if (processes.rank() == 2) throw StopException();
      return rows_of(numbers);
    };
    EXPECT_THROW(share_rows(processes, kNumPieces, stop_in_last), StopException);
  });
}

}  // namespace
}  // namespace edgewise
