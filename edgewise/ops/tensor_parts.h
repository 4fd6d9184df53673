// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace edgewise {

/// Consecutive elements of a tensor of a list.
struct TensorPart {
  std::size_t tensor;
  std::int64_t begin;
  std::int64_t count;
  std::int64_t before;  // elements of all parts before this one
  std::size_t index;    // number of the part among all parts
};

/// Cuts tensors into parts of at most 65 536 elements, which depend only on the sizes of the tensors. A tensor that is
/// not contiguous, or not on the CPU, is one part.
std::vector<TensorPart> split_tensors(const std::vector<at::Tensor>& tensors);

/// Returns the elements of a part, from the list that was split or from a list of contiguous tensors of equal sizes.
at::Tensor take_part(const std::vector<at::Tensor>& tensors, const TensorPart& part);

/// Calls fn with ranges of the parts, on several threads, without recording of gradients. Operations of ATen inside fn
/// run in one thread.
void parallel_parts(const std::vector<TensorPart>& parts, const std::function<void(std::span<const TensorPart>)>& fn);

}  // namespace edgewise
