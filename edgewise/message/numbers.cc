// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/numbers.h"

#include <span>

#include "edgewise/base/error.h"
#include "edgewise/message/describe.h"

namespace edgewise {
namespace {

std::span<const std::int64_t> as_span(const at::Tensor& contiguous) {
  return {contiguous.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(contiguous.numel())};
}

}  // namespace

void check_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller, std::string_view argument) {
  check(numbers.defined() && numbers.scalar_type() == at::kLong && numbers.dim() == 1 && numbers.device().is_cpu(),
        "{}: {} is {}, needs Long [count] on the CPU", caller, argument, describe(numbers));

  const at::Tensor contiguous = numbers.contiguous();
  for (const std::int64_t value : as_span(contiguous)) {
    check(value >= 0 && value < frame.num_rows(), "{}: {} holds {}, but there are {} {}s, counted from 0", caller,
          argument, value, frame.num_rows(), frame.row_name());
  }
}

void check_distinct_numbers(const Frame& frame, const at::Tensor& numbers, std::string_view caller,
                            std::string_view argument) {
  check_numbers(frame, numbers, caller, argument);

  const at::Tensor contiguous = numbers.contiguous();
  std::vector<bool> occurred(frame.num_rows());
  for (const std::int64_t value : as_span(contiguous)) {
    check(!occurred[value], "{}: {} holds {} twice, needs each number once", caller, argument, value);
    occurred[value] = true;
  }
}

}  // namespace edgewise
