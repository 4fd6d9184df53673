// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/round_to_int8.h"

namespace edgewise {

/// Returns a copy of a model that computes as the runtime does with a model in 8 bits: embeddings and the weights of
/// products are those that `edgewise quantise` stores, and products round their inputs (round_to_int8). Gradients reach
/// the parameters of `model`. The copy serves one pass: it has the values that the parameters had when it was made.
template <class Model>
Model int8_copy(const Model& model) {
  Model copy = model;
  std::unordered_map<const void*, at::Tensor> rounded;  // by parameter, so that tied ones stay tied
  const auto round = [&rounded](at::Tensor& weight) {
    at::Tensor& result = rounded[weight.unsafeGetTensorImpl()];
    if (!result.defined()) result = round_to_int8(weight, Int8Factor::kWeight);
    weight = result;
  };
  visit_parts<Linear>(copy, "", [&](const std::string& name, Linear& linear) {
    if (!linear.weight.defined() || !is_stored_in_8_bits(name + ".weight", 2)) return;
    linear.rounds_input = true;
    round(linear.weight);
  });
  visit_parts<Embedding>(copy, "", [&](const std::string&, Embedding& embedding) {
    if (embedding.weight.defined()) round(embedding.weight);
  });
  return copy;
}

}  // namespace edgewise
