// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/distributed/process_group.h"
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

/// The pieces of a flat array (FlatParameters) that a process owns, those of its virtual ranks. Each process keeps the
/// moments and the averages of its own pieces only, and updates only them (ZeRO-1: Rajbhandari et al. 2020, "ZeRO:
/// memory optimizations toward training trillion parameter models", section 5.1).
///
/// An owned array has the elements of all owned pieces, bucket by bucket. A single process owns all pieces; its owned
/// arrays are whole flat arrays.
///
/// All processes call share, gather and scatter together.
class OwnedPieces {
 public:
  /// Throws Error unless the processes divide the pieces. `parameters` and `processes` must outlive this object.
  OwnedPieces(const FlatParameters& parameters, ProcessGroup& processes);

  ProcessGroup& processes() const { return processes_; }

  /// Returns the owned range of each bucket in a flat array.
  const std::vector<FlatRange>& ranges() const { return ranges_; }

  /// Returns an owned array of zeros.
  at::Tensor make_array() const;

  /// Returns the elements of an owned array that belong to the owned range of a bucket, as a view.
  at::Tensor part_of(const at::Tensor& owned, std::size_t bucket) const;

  /// Copies the owned elements of a flat array to all other processes.
  void share(const at::Tensor& flat) const;

  /// Returns the flat array of all owned arrays to process 0, and an undefined tensor to the others.
  at::Tensor gather(const at::Tensor& owned) const;

  /// Gives each process its elements of the flat array `whole` of process 0; the others pass an undefined tensor.
  void scatter(const at::Tensor& whole, const at::Tensor& owned) const;

 private:
  at::Tensor bucket_of(const at::Tensor& flat, std::size_t bucket) const;

  const FlatParameters& parameters_;
  ProcessGroup& processes_;
  std::vector<FlatRange> ranges_;
  std::vector<std::int64_t> begins_;  // the first element of each range in an owned array; at the end, the array's size
};

}  // namespace edgewise
