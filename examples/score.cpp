// SPDX-License-Identifier: Apache-2.0
// Attention with score functions of five papers, without a tensor [edges, heads]. docs/cpp.md explains them.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/ops/attend.h"

using edgewise::Score;

// The clamp of the graph tutorial.
Score tutorial_clamp() { return clamp(Score::product(), -5, 5); }

// Soft-capping, as in Gemma 2.
Score soft_cap() { return 50 * tanh(Score::product() / 50); }

// ALiBi (Press et al. 2022): a penalty for the distance, with a slope for each head.
Score alibi(const at::Tensor& slope_H) { return Score::product() - Score::of_heads(slope_H) * abs(Score::distance()); }

// The relative position bias of T5 (Raffel et al. 2020): a table of 32 buckets of positions key - query.
Score t5_bias(const at::Tensor& table_TH) {
  const double per_direction = 16;
  const double exact = 8;
  const double max_distance = 128;
  const Score distance = abs(Score::distance());
  const Score share = log(distance / exact) / std::log(max_distance / exact);
  const Score range = min(exact + floor(share * (per_direction - exact)), per_direction - 1);
  const Score bucket = where(Score::distance() < 0, per_direction, 0) + where(distance < exact, distance, range);
  return Score::product() + Score::lookup(table_TH, bucket);
}

// Graph attention networks (Veličković et al. 2018): no product of a query and a key.
Score gat(const at::Tensor& destination_DH, const at::Tensor& source_SH) {
  return leaky_relu(Score::of_destinations(destination_DH) + Score::of_sources(source_SH), 0.2);
}

int main() {
  const std::int64_t length = 1000;
  const std::int64_t heads = 8;
  const edgewise::Relation relation = edgewise::causal(length);
  const at::Tensor nodes = at::randn({length, heads, 64});
  const at::Tensor table = at::randn({32, heads}).requires_grad_();
  const at::Tensor slopes = at::exp2(-at::arange(1, heads + 1).to(at::kFloat));
  const at::Tensor columns = at::randn({length, heads});

  const std::vector<std::pair<std::string, Score>> scores = {{"clamp", tutorial_clamp()},
                                                             {"soft-capping", soft_cap()},
                                                             {"ALiBi", alibi(slopes)},
                                                             {"T5", t5_bias(table)},
                                                             {"GAT", gat(columns, columns)}};
  for (const auto& [name, score] : scores) {
    const at::Tensor out = edgewise::attend(relation, nodes, nodes, nodes, {.score = score});
    std::cout << name << ": mean of squares " << out.square().mean().item<float>() << std::endl;
  }

  const at::Tensor out = edgewise::attend(relation, nodes, nodes, nodes, {.score = t5_bias(table)});
  const at::Tensor gradient = torch::autograd::grad({out.square().sum()}, {table}).front();
  std::cout << "gradient of the table of T5: " << gradient.sizes() << std::endl;
}
