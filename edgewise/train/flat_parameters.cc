// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/flat_parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// Large enough that the time of an exchange is that of its bytes, and small enough that several exchanges of a model
// run during the backward pass.
constexpr std::int64_t kBucketElements = 1 << 20;

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

void check_parameter(const NamedTensor& parameter, at::ScalarType type) {
  const at::Tensor& tensor = parameter.tensor;
  check(tensor.is_leaf() && tensor.requires_grad(),
        "FlatParameters: parameter \"{}\" takes no gradient, needs a leaf that requires one", parameter.name);
  check(tensor.scalar_type() == type && tensor.is_contiguous(),
        "FlatParameters: parameter \"{}\" is {}{}, needs to be contiguous and {} like the others", parameter.name,
        tensor.is_contiguous() ? "" : "not contiguous and ", at::toString(tensor.scalar_type()), at::toString(type));
}

}  // namespace

FlatParameters::FlatParameters(const std::vector<NamedTensor>& parameters, std::int64_t pieces, at::Device device)
    : pieces_(pieces) {
  check(!parameters.empty() && pieces >= 1, "FlatParameters: {} parameters have {} pieces, needs at least one of each",
        parameters.size(), pieces);
  const at::NoGradGuard no_gradients;
  const auto options = parameters.front().tensor.detach().options().device(device);
  for (const NamedTensor& parameter : parameters)
    check_parameter(parameter, c10::typeMetaToScalarType(options.dtype()));
  const std::int64_t size = place_parameters(parameters);
  values_ = at::zeros({size}, options);
  gradients_ = at::zeros({size}, options);
  for (const FlatParameter& parameter : parameters_) {
    const at::Tensor& tensor = parameter.named.tensor;
    const FlatRange used{parameter.range.begin, tensor.numel()};
    const at::Tensor value = take_range(values_, used).view(tensor.sizes());
    value.copy_(tensor.detach());
    tensor.set_data(value);
    tensor.mutable_grad() = take_range(gradients_, used).view(tensor.sizes());
  }
}

/// Chooses the ranges of parameters and buckets; returns the size of the array. Buckets are filled from the last
/// parameter on, because backward passes compute its gradient first.
std::int64_t FlatParameters::place_parameters(const std::vector<NamedTensor>& parameters) {
  std::vector<std::size_t> first_of_bucket;  // the number of each bucket's first parameter, last bucket first
  std::int64_t elements = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    elements += round_up(parameters[i].tensor.numel(), kAlignment);
    if (elements < kBucketElements && i > 0) continue;
    first_of_bucket.push_back(i);
    elements = 0;
  }
  std::int64_t begin = 0;
  for (auto first = first_of_bucket.rbegin(); first != first_of_bucket.rend(); ++first) {
    const std::size_t end = first + 1 == first_of_bucket.rend() ? parameters.size() : *(first + 1);
    const std::int64_t bucket_begin = begin;
    for (std::size_t i = *first; i < end; ++i) {
      const std::int64_t count = round_up(parameters[i].tensor.numel(), kAlignment);
      parameters_.push_back({parameters[i], {begin, count}});
      begin += count;
    }
    begin = bucket_begin + round_up(begin - bucket_begin, kAlignment * pieces_);
    FlatRange& last = parameters_.back().range;
    last.count = begin - last.begin;
    buckets_.push_back({bucket_begin, begin - bucket_begin});
  }
  return begin;
}

std::vector<NamedTensor> FlatParameters::named() const {
  std::vector<NamedTensor> named;
  named.reserve(parameters_.size());
  for (const FlatParameter& parameter : parameters_) named.push_back(parameter.named);
  return named;
}

std::vector<FlatRange> FlatParameters::pieces_of(std::int64_t first, std::int64_t count) const {
  std::vector<FlatRange> ranges;
  ranges.reserve(buckets_.size());
  for (const FlatRange& bucket : buckets_) {
    const std::int64_t piece = bucket.count / pieces_;
    ranges.push_back({bucket.begin + first * piece, count * piece});
  }
  return ranges;
}

std::vector<NamedTensor> FlatParameters::views(const at::Tensor& flat, const std::string& prefix) const {
  std::vector<NamedTensor> views;
  views.reserve(parameters_.size());
  for (const auto& [named, range] : parameters_) {
    views.push_back(
        {prefix + named.name, take_range(flat, {range.begin, named.tensor.numel()}).view(named.tensor.sizes())});
  }
  return views;
}

std::int64_t FlatParameters::begin_of(const at::Tensor& parameter) const {
  const auto found = std::ranges::find_if(
      parameters_, [&](const FlatParameter& other) { return other.named.tensor.is_same(parameter); });
  return found == parameters_.end() ? size() : found->range.begin;
}

std::vector<FlatRange> join_neighbours(const std::vector<FlatRange>& ranges) {
  std::vector<FlatRange> joined;
  for (const FlatRange& range : ranges) {
    if (!joined.empty() && joined.back().end() == range.begin) {
      joined.back().count += range.count;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

at::Tensor take_range(const at::Tensor& flat, const FlatRange& range) {
  return flat.narrow(0, range.begin, range.count);
}

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
