// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/base/random.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/options/precision.h"

// A layer is a struct whose tensors are its parameters. It lists them, and the layers it is made of, once:
//
//     struct FeedForward {
//       Linear inner, outer;
//       template <typename Self, typename Visitor>
//       static void list_parts(Self& self, Visitor&& part) { part("inner", self.inner); part("outer", self.outer); }
//     };
//
// Names, saving, loading, counting and optimising all come from that list. Tensors are handles: two layers that share a
// tensor are tied, and name it twice.

namespace edgewise {

struct NamedTensor {
  std::string name;  // "encoder.layers.0.feed_forward.inner.weight"
  at::Tensor tensor;
};

/// Calls `visit(name, tensor&)` for each parameter of a layer and of the layers within it, in the order listed. Skips
/// undefined tensors: a bias that is switched off.
template <typename Part, typename Visitor>
void visit_parameters(Part& part, const std::string& name, Visitor&& visit);

/// What one forward pass needs beside its inputs: whether it trains, in what precision, and the random numbers of its
/// dropouts. Each dropout takes the next stream, so that a pass is a function of its seed.
class Pass {
 public:
  static Pass inference() { return Pass(); }
  static Pass training(std::uint64_t seed, Precision precision = Precision::kFp32) {
    Pass pass;
    pass.training_ = true;
    pass.precision_ = precision;
    pass.key_.seed = seed;
    return pass;
  }

  bool is_training() const { return training_; }

  /// The type in which linear layers and attention read what is in x's type: bf16 where asked for in place of fp32.
  at::ScalarType type_of(const at::Tensor& x) const {
    return precision_ == Precision::kBf16 && x.scalar_type() == at::kFloat ? at::kBFloat16 : x.scalar_type();
  }
  at::Tensor cast(const at::Tensor& x) const { return x.to(type_of(x)); }

  DropoutKey next_key() { return DropoutKey{key_.seed, key_.stream++}; }

  /// Sets a dropout of an operation's options, where the pass trains.
  void set_dropout(double rate, double& dropout, DropoutKey& key) {
    if (!training_ || rate == 0.0) return;
    dropout = rate;
    key = next_key();
  }
  template <class Options>
  void set_dropout(double rate, Options& options) {
    set_dropout(rate, options.dropout, options.dropout_key);
  }
  at::Tensor dropout(const at::Tensor& x, double rate) {
    return training_ && rate > 0.0 ? edgewise::dropout(x, rate, next_key()) : x;
  }

 private:
  bool training_ = false;
  Precision precision_ = Precision::kFp32;
  DropoutKey key_;
};

template <typename Part, typename Visitor>
void visit_parameters(Part& part, const std::string& name, Visitor&& visit) {
  const auto join = [&name](std::string_view child) {
    return name.empty() ? std::string(child) : name + "." + std::string(child);
  };
  using Plain = std::remove_const_t<Part>;
  if constexpr (std::same_as<Plain, at::Tensor>) {
    if (part.defined()) visit(name, part);
  } else if constexpr (requires {
                         part.size();
                         part[0];
                       }) {
    for (std::size_t i = 0; i < part.size(); ++i) visit_parameters(part[i], join(std::to_string(i)), visit);
  } else {
    Plain::list_parts(part, [&](std::string_view child, auto& inner) { visit_parameters(inner, join(child), visit); });
  }
}

/// All parameters of a layer, each tensor once: a tied one under the first of its names.
template <typename Layer>
std::vector<NamedTensor> parameters(const Layer& layer) {
  std::vector<NamedTensor> found;
  visit_parameters(layer, "", [&found](const std::string& name, const at::Tensor& tensor) {
    for (const NamedTensor& other : found) {
      if (other.tensor.is_same(tensor)) return;
    }
    found.push_back({name, tensor});
  });
  return found;
}

}  // namespace edgewise
