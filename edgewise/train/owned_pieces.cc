// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/owned_pieces.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <memory>

#include "edgewise/base/error.h"

namespace edgewise {

OwnedPieces::OwnedPieces(const FlatParameters& parameters, ProcessGroup& processes)
    : parameters_(parameters), processes_(processes), begins_{0} {
  check(parameters.pieces() % processes.size() == 0, "OwnedPieces: {} processes share {} pieces, needs a divisor",
        processes.size(), parameters.pieces());
  const std::int64_t count = parameters.pieces() / processes.size();
  ranges_ = parameters.pieces_of(processes.rank() * count, count);
  for (const FlatRange& range : ranges_) begins_.push_back(begins_.back() + range.count);
}

at::Tensor OwnedPieces::make_array() const { return at::zeros({begins_.back()}, parameters_.gradients().options()); }

at::Tensor OwnedPieces::part_of(const at::Tensor& owned, std::size_t bucket) const {
  return take_range(owned, {begins_[bucket], ranges_[bucket].count});
}

at::Tensor OwnedPieces::bucket_of(const at::Tensor& flat, std::size_t bucket) const {
  return take_range(flat, parameters_.buckets()[bucket]);
}

void OwnedPieces::share(const at::Tensor& flat) const {
  if (processes_.size() == 1) return;
  std::vector<at::Tensor> tensors;  // alive until all exchanges have ended
  std::vector<std::unique_ptr<ProcessGroup::Pending>> pending;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    at::Tensor bucket = bucket_of(flat, i);
    tensors.push_back(take_range(flat, ranges_[i]).clone());  // input and output must not share memory
    pending.push_back(processes_.begin_all_gather(tensors.back(), bucket));
    tensors.push_back(bucket);
  }
  for (const auto& exchange : pending) exchange->wait();
}

at::Tensor OwnedPieces::gather(const at::Tensor& owned) const {
  if (processes_.size() == 1) return owned;
  const bool is_first = processes_.rank() == 0;
  at::Tensor whole = is_first ? at::empty_like(parameters_.gradients()) : at::Tensor();
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    at::Tensor bucket = is_first ? bucket_of(whole, i) : at::Tensor();
    processes_.gather(part_of(owned, i), bucket, 0);
  }
  return whole;
}

void OwnedPieces::scatter(const at::Tensor& whole, const at::Tensor& owned) const {
  if (processes_.size() == 1) {
    if (!whole.is_same(owned)) owned.copy_(whole);
    return;
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    at::Tensor part = part_of(owned, i);
    processes_.scatter(processes_.rank() == 0 ? bucket_of(whole, i) : at::Tensor(), part, 0);
  }
}

}  // namespace edgewise
