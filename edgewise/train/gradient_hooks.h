// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "edgewise/nn/module.h"

namespace torch::autograd {
struct Node;
}

namespace edgewise {

/// Calls a function in backward passes, when the gradient of a parameter is complete, with the number of the parameter.
/// Parameters that a pass does not reach have no call. Not thread-safe.
class GradientHooks {
 public:
  GradientHooks(const std::vector<NamedTensor>& parameters, std::function<void(std::size_t)> on_complete);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

  /// Throws the first exception of the function, after which the function was not called again. Autograd would change
  /// the type of an exception that passes through it.
  void rethrow() const;

 private:
  void call(std::size_t parameter);

  std::function<void(std::size_t)> on_complete_;
  std::exception_ptr error_;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

}  // namespace edgewise
