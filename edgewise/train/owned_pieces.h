// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/distributed/process_group.h"
#include "edgewise/train/flat_parameters.h"

namespace edgewise {

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
  std::vector<std::int64_t>
      begins_;  // the first element of each range in an owned array; at the end, the size of the array
};

}  // namespace edgewise
