// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/tensor_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "edgewise/base/threads.h"

namespace edgewise {

std::vector<TensorPart> split_tensors(const std::vector<at::Tensor>& tensors) {
  constexpr std::int64_t kMostElements = 1 << 16;
  std::vector<TensorPart> parts;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t size = tensors[i].numel();
    const bool is_divided = tensors[i].is_contiguous() && tensors[i].is_cpu();
    const std::int64_t step = is_divided ? kMostElements : std::max<std::int64_t>(size, 1);
    for (std::int64_t begin = 0; begin < size; begin += step) {
      const std::int64_t count = std::min(step, size - begin);
      parts.push_back({i, begin, count, before, parts.size()});
      before += count;
    }
  }
  return parts;
}

at::Tensor take_part(const std::vector<at::Tensor>& tensors, const TensorPart& part) {
  const at::Tensor& tensor = tensors[part.tensor];
  return part.count == tensor.numel() ? tensor : tensor.view(-1).narrow(0, part.begin, part.count);
}

void parallel_parts(const std::vector<TensorPart>& parts, const std::function<void(std::span<const TensorPart>)>& fn) {
  constexpr std::int64_t kGrain = 1 << 15;
  if (parts.empty()) return;
  const auto first_at = [&](std::int64_t element) {
    return std::ranges::lower_bound(parts, element, {}, &TensorPart::before);
  };
  const SerialOpenMpScope serial;
  parallel_for(parts.back().before + parts.back().count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradients;
    const std::span<const TensorPart> range(first_at(begin), first_at(end));
    if (!range.empty()) fn(range);
  });
}

}  // namespace edgewise
