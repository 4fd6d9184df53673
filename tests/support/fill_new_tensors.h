// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>

namespace edgewise {

/// While an object of this class exists, libtorch fills tensors whose content is not initialised, such as the results
/// of at::empty, with NaN, or with the largest integer. Operations without a deterministic variant throw.
class FillNewTensorsWithNan {
 public:
  FillNewTensorsWithNan() { set(true); }
  ~FillNewTensorsWithNan() { set(before_); }
  FillNewTensorsWithNan(const FillNewTensorsWithNan&) = delete;
  FillNewTensorsWithNan& operator=(const FillNewTensorsWithNan&) = delete;

 private:
  static void set(bool is_on) { at::globalContext().setDeterministicAlgorithms(is_on, /*warn_only=*/false); }

  bool before_ = at::globalContext().deterministicAlgorithms();
};

}  // namespace edgewise
