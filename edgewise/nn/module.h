// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/random.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/options/layer_options.h"

// A layer is a struct whose tensors are its parameters. It lists its parameters and its inner layers once:
//
//     struct FeedForward {
//       Linear inner, outer;
//       template <typename Self, typename Visitor>
//       static void list_parts(Self& self, Visitor&& part) { part("inner", self.inner); part("outer", self.outer); }
//     };
//
// Names, checkpoints, parameter counts and optimisers all use this list. An at::Tensor is a handle: two layers that
// hold the same tensor are tied, and both list it.
namespace edgewise {

struct NamedTensor {
  std::string name;  // "encoder.layers.0.feed_forward.inner.weight"
  at::Tensor tensor;
};

/// Settings of one forward pass: whether it trains, its precision, and the random numbers of dropout. Each dropout
/// takes the next random stream, so that the seed determines the pass.
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

  /// Returns the input type of linear layers and attention: bf16 for fp32 x with Precision::kBf16, else the type of x.
  at::ScalarType type_of(const at::Tensor& x) const {
    return precision_ == Precision::kBf16 && x.scalar_type() == at::kFloat ? at::kBFloat16 : x.scalar_type();
  }
  at::Tensor cast(const at::Tensor& x) const { return x.to(type_of(x)); }

  DropoutKey next_key() { return DropoutKey{key_.seed, key_.stream++}; }

  /// Sets dropout rate and key in the options of an operation, if the pass trains and the rate is not 0.
  void set_dropout(double rate, double& dropout, DropoutKey& key) {
    if (!training_ || rate == 0.0) return;
    dropout = rate;
    key = next_key();
  }
  /// Cuts tokens of batches that repeat_batch() returns: embeddings take a share `rate` of the second half's tokens for
  /// kNoToken (ops/embed.h), as SimCut needs.
  void set_cut(double rate) { cut_rate_ = rate; }
  double cut_rate() const { return cut_rate_; }

  /// Makes models compute with an int8_copy() (nn/int8_copy.h) in this pass.
  void set_int8() { has_int8_ = true; }
  bool has_int8() const { return has_int8_; }

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
  double cut_rate_ = 0.0;
  bool has_int8_ = false;
  DropoutKey key_;
};

/// Calls `visit(name, part&)` for each part of a layer, and of its inner layers, that is a `Kind`: at::Tensor or a
/// layer. The parts come in the order listed, undefined tensors and layers that are off among them.
template <class Kind, typename Part, typename Visitor>
void visit_parts(Part& part, const std::string& name, Visitor&& visit) {
  const auto join = [&name](std::string_view child) {
    return name.empty() ? std::string(child) : name + "." + std::string(child);
  };
  using Plain = std::remove_const_t<Part>;
  if constexpr (std::same_as<Plain, Kind>) {
    visit(name, part);
  } else if constexpr (std::same_as<Plain, at::Tensor>) {
    return;
  } else if constexpr (requires {
                         part.size();
                         part[0];
                       }) {
    for (std::size_t i = 0; i < part.size(); ++i) visit_parts<Kind>(part[i], join(std::to_string(i)), visit);
  } else {
    Plain::list_parts(part, [&](std::string_view child, auto& inner) { visit_parts<Kind>(inner, join(child), visit); });
  }
}

/// Calls `visit(name, tensor&)` for each parameter of a layer and its inner layers, in the order listed. Skips
/// undefined tensors, such as the bias of a layer without bias.
template <typename Part, typename Visitor>
void visit_parameters(Part& part, const std::string& name, Visitor&& visit) {
  visit_parts<at::Tensor>(part, name, [&visit](const std::string& path, auto& tensor) {
    if (tensor.defined()) visit(path, tensor);
  });
}

/// Returns all parameters of a layer, each tensor once: a tied tensor with its first name.
template <typename Layer>
std::vector<NamedTensor> parameters(const Layer& layer) {
  std::vector<NamedTensor> unique;
  visit_parameters(layer, "", [&unique](const std::string& name, const at::Tensor& tensor) {
    for (const NamedTensor& other : unique) {
      if (other.tensor.is_same(tensor)) return;
    }
    unique.push_back({name, tensor});
  });
  return unique;
}

// The functions below return initial values of parameters: fp32 leaf tensors that require a gradient, determined by the
// random stream.

/// Draws uniformly within ±sqrt(6 / (fan_in + fan_out)), which preserves activation variance (Glorot and Bengio 2010).
at::Tensor xavier_uniform(at::IntArrayRef shape, std::int64_t fan_in, std::int64_t fan_out, RandomStream& random);

/// Draws from the normal distribution with mean 0.
at::Tensor normal_init(at::IntArrayRef shape, double deviation, RandomStream& random);

/// Draws a table of `rows` vectors of `size` elements.
at::Tensor embedding_init(std::int64_t rows, std::int64_t size, EmbeddingInit init, RandomStream& random);

at::Tensor constant_init(at::IntArrayRef shape, double value);

}  // namespace edgewise
