// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "edgewise/device/stream.h"

namespace edgewise::device {

/// A sequence of kernels and copies with their arguments, which begins in one call: a CUDA graph. One call takes less
/// time of the host than a call for each kernel.
class LaunchGraph {
 public:
  /// Records the kernels and copies that begin_all() begins in `stream`, and does not run them. begin_all() may neither
  /// allocate memory of the device nor wait. Throws std::runtime_error if the device cannot record them; an exception
  /// of begin_all() ends the recording.
  static LaunchGraph record(Stream stream, const std::function<void()>& begin_all);

  ~LaunchGraph();
  LaunchGraph(LaunchGraph&& other) noexcept;
  LaunchGraph& operator=(LaunchGraph&& other) noexcept;

  /// Begins everything that was recorded. The memory at the recorded addresses must exist.
  void launch(Stream stream) const;

 private:
  struct Recorded;

  explicit LaunchGraph(std::unique_ptr<Recorded> recorded);

  std::unique_ptr<Recorded> recorded_;
};

}  // namespace edgewise::device
