// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// While it lives, backward passes on this thread may add the gradients of parameters (leaves that have a gradient
/// already) to them where they lie, instead of handing them to autograd, which would allocate each and add it in
/// another pass:
///
///     const GradientsInPlace in_place;
///     loss.backward();
///
/// Only for `backward()`: torch::autograd::grad would not see those gradients.
class GradientsInPlace {
 public:
  GradientsInPlace();
  ~GradientsInPlace();
  GradientsInPlace(const GradientsInPlace&) = delete;
  GradientsInPlace& operator=(const GradientsInPlace&) = delete;

  static bool is_active();

 private:
  bool before_;
};

}  // namespace edgewise
