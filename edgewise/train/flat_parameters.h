// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/nn/module.h"

namespace edgewise {

/// Consecutive elements of a flat array.
struct FlatRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return begin + count; }
};

/// The elements of a parameter in a flat array, with the unused elements up to the next parameter.
struct FlatParameter {
  NamedTensor named;
  FlatRange range;
};

/// Puts all parameters of a model into one flat array on a device, and their gradients into another. The parameters
/// keep their order, shapes and names; afterwards they are views of the array, and their gradients are defined,
/// initially zero.
///
/// The array consists of buckets, which processes exchange one by one, and each bucket of `pieces` pieces of equal
/// size, one for each virtual rank. Parameters and pieces begin at multiples of 16 elements, so that no vector
/// instruction crosses their borders: a computation by element then gives the same bits wherever the borders are. The
/// elements between the parameters are always zero.
class FlatParameters {
 public:
  static constexpr std::int64_t kAlignment = 16;  // elements: a register of AVX-512 has 16 floats

  /// Throws Error unless all parameters are contiguous leaves of one type that require gradients.
  FlatParameters(const std::vector<NamedTensor>& parameters, std::int64_t pieces, at::Device device = at::kCPU);

  const std::vector<FlatParameter>& parameters() const { return parameters_; }
  std::vector<NamedTensor> named() const;

  std::int64_t size() const { return values_.numel(); }
  std::int64_t pieces() const { return pieces_; }
  const at::Tensor& values() const { return values_; }
  const at::Tensor& gradients() const { return gradients_; }

  /// Returns the buckets in the order of the array.
  const std::vector<FlatRange>& buckets() const { return buckets_; }

  /// Returns the ranges of pieces `first` to `first + count - 1` of all buckets: one range for each bucket.
  std::vector<FlatRange> pieces_of(std::int64_t first, std::int64_t count) const;

  /// Returns the parts of a flat array that correspond to the parameters, named "<prefix><parameter>". The tensors are
  /// views.
  std::vector<NamedTensor> views(const at::Tensor& flat, const std::string& prefix) const;

  /// Returns where the elements of a parameter begin; size() for a tensor that is not one of the parameters.
  std::int64_t begin_of(const at::Tensor& parameter) const;

 private:
  std::int64_t place_parameters(const std::vector<NamedTensor>& parameters);

  std::int64_t pieces_;
  std::vector<FlatParameter> parameters_;
  std::vector<FlatRange> buckets_;
  at::Tensor values_;
  at::Tensor gradients_;
};

/// Returns ascending ranges with each range joined to the one before it if that ends where it begins.
std::vector<FlatRange> join_neighbours(const std::vector<FlatRange>& ranges);

/// Returns the elements of a range of a flat array, as a view.
at::Tensor take_range(const at::Tensor& flat, const FlatRange& range);

}  // namespace edgewise
