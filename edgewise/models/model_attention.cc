// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/model_attention.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "edgewise/nn/attention_watch.h"

namespace edgewise {
namespace {

struct SeenAttention {
  Relation relation;
  at::Tensor weight_EH;
};

std::vector<SeenAttention> watched(const SequenceModel& model, const Batch& batch) {
  const at::NoGradGuard no_gradients;
  std::vector<SeenAttention> seen;
  const AttentionWatch watch([&seen](const Relation& relation, const at::Tensor& weight_EH) {
    seen.push_back({relation, weight_EH.to(at::kFloat).contiguous()});
  });
  Pass pass = Pass::inference();
  model.loss(batch, {}, /*rdrop=*/0, pass);
  return seen;
}

/// The nodes that still think at a step, as there is a row for each of them.
std::vector<std::int64_t> thinking_at(std::size_t step, const std::vector<std::int64_t>& steps) {
  std::vector<std::int64_t> nodes;
  for (std::size_t node = 0; node < steps.size(); ++node) {
    if (steps[node] > static_cast<std::int64_t>(step)) nodes.push_back(static_cast<std::int64_t>(node));
  }
  return nodes;
}

std::vector<std::int64_t> all_of(std::int64_t count) {
  std::vector<std::int64_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// `rows` and `columns` say which nodes of the side the ends of the relation are.
DenseAttention dense(const SeenAttention& seen, std::int64_t num_rows, const std::vector<std::int64_t>& rows,
                     std::int64_t num_columns, const std::vector<std::int64_t>& columns) {
  const std::int64_t heads = seen.weight_EH.size(1);
  DenseAttention found = {heads, num_rows, num_columns, {}};
  found.weights.assign(static_cast<std::size_t>(heads * num_rows * num_columns),
                       std::numeric_limits<float>::quiet_NaN());
  const EdgeList edges = seen.relation.edges();
  const float* weight = seen.weight_EH.const_data_ptr<float>();
  for (std::size_t edge = 0; edge < edges.sources.size(); ++edge) {
    const std::int64_t row = rows[static_cast<std::size_t>(edges.destinations[edge])];
    const std::int64_t column = columns[static_cast<std::size_t>(edges.sources[edge])];
    for (std::int64_t head = 0; head < heads; ++head) {
      found.weights[static_cast<std::size_t>((head * num_rows + row) * num_columns + column)] = *weight++;
    }
  }
  return found;
}

/// Takes what was seen in its order: layers, or steps, of the encoder, then those of the decoder, self before cross.
class Unfolding {
 public:
  Unfolding(std::vector<SeenAttention> seen, std::int64_t inputs, std::int64_t outputs)
      : seen_(std::move(seen)), inputs_(inputs), outputs_(outputs) {}

  void take_encoder(ModelAttention& found, const std::vector<std::int64_t>& rows) {
    found.encoder.push_back(self(inputs_, rows));
  }

  void take_decoder(ModelAttention& found, const std::vector<std::int64_t>& rows) {
    found.decoder.push_back(self(outputs_, rows));
    found.cross.push_back(dense(seen_[next_++], outputs_, rows, inputs_, all_of(inputs_)));
  }

 private:
  /// Among the nodes that still think, where halted ones are no keys.
  DenseAttention self(std::int64_t nodes, const std::vector<std::int64_t>& rows) {
    const SeenAttention& seen = seen_[next_++];
    return dense(seen, nodes, rows, nodes, seen.relation.num_sources() == nodes ? all_of(nodes) : rows);
  }

  std::vector<SeenAttention> seen_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::size_t next_ = 0;
};

/// How many layers each node goes through.
NodeSteps steps_of(const SequenceModel& model, const Batch& batch) {
  const TransformerOptions& options = model.options();
  if (options.kind == ModelKind::kUniversal) return model.steps(batch);
  return {std::vector<std::int64_t>(batch.input_tokens.size(), options.encoder_layers),
          std::vector<std::int64_t>(batch.output_tokens.size(), options.decoder_layers)};
}

}  // namespace

ModelAttention attention_of(const SequenceModel& model, const Batch& batch) {
  const NodeSteps steps = steps_of(model, batch);
  Unfolding unfolding(watched(model, batch), std::ssize(batch.input_tokens), std::ssize(batch.output_tokens));
  ModelAttention found;
  for (std::size_t step = 0; static_cast<std::int64_t>(step) < std::ranges::max(steps.encoder); ++step) {
    unfolding.take_encoder(found, thinking_at(step, steps.encoder));
  }
  for (std::size_t step = 0; static_cast<std::int64_t>(step) < std::ranges::max(steps.decoder); ++step) {
    unfolding.take_decoder(found, thinking_at(step, steps.decoder));
  }
  return found;
}

}  // namespace edgewise
