// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/model_attention.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "edgewise/nn/attention.h"

namespace edgewise {
namespace {

struct RecordedAttention {
  Relation relation;
  at::Tensor weight_EH;
};

std::vector<RecordedAttention> record(const SequenceModel& model, const Batch& batch, const StopRequest* stop) {
  const at::NoGradGuard no_gradients;
  std::vector<RecordedAttention> recorded;
  const AttentionRecorder recorder([&](const Relation& relation, const AttentionRecorder::Weights& weights) {
    throw_if_set(stop);
    recorded.push_back({relation, weights(/*head=*/-1).to(at::kCPU, at::kFloat).contiguous()});
  });
  Pass pass = Pass::inference();
  model.loss(batch, {}, /*added=*/{}, pass);
  return recorded;
}

/// Returns the number of steps of a side, 0 for a side without nodes.
std::int64_t most_steps(const std::vector<std::int64_t>& steps) { return steps.empty() ? 0 : std::ranges::max(steps); }

/// Returns the nodes that are active in a step: the destinations of the recorded relation, in order.
std::vector<std::int64_t> active_nodes(std::size_t step, const std::vector<std::int64_t>& steps) {
  std::vector<std::int64_t> nodes;
  for (std::size_t node = 0; node < steps.size(); ++node) {
    if (steps[node] > static_cast<std::int64_t>(step)) nodes.push_back(static_cast<std::int64_t>(node));
  }
  return nodes;
}

std::vector<std::int64_t> all_nodes(std::int64_t count) {
  std::vector<std::int64_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Copies recorded weights into a matrix for each head. `rows` and `columns` give the node number of each destination
/// and each source of the recorded relation.
DenseAttention to_dense(const RecordedAttention& recorded, std::int64_t num_rows, const std::vector<std::int64_t>& rows,
                        std::int64_t num_columns, const std::vector<std::int64_t>& columns) {
  const std::int64_t heads = recorded.weight_EH.size(1);
  DenseAttention dense = {heads, num_rows, num_columns, {}};
  dense.weights.assign(static_cast<std::size_t>(heads * num_rows * num_columns),
                       std::numeric_limits<float>::quiet_NaN());
  const EdgeList edges = recorded.relation.edges();
  const float* weight = recorded.weight_EH.const_data_ptr<float>();
  for (std::size_t edge = 0; edge < edges.sources.size(); ++edge) {
    const std::int64_t row = rows[static_cast<std::size_t>(edges.destinations[edge])];
    const std::int64_t column = columns[static_cast<std::size_t>(edges.sources[edge])];
    for (std::int64_t head = 0; head < heads; ++head) {
      dense.weights[static_cast<std::size_t>((head * num_rows + row) * num_columns + column)] = *weight++;
    }
  }
  return dense;
}

/// Converts recorded attention in the order in which it was recorded: the layers or ponder steps of the encoder, then
/// those of the decoder, each with self-attention before cross-attention.
class RecordReader {
 public:
  RecordReader(std::vector<RecordedAttention> recorded, std::int64_t inputs, std::int64_t outputs, bool has_ssru)
      : recorded_(std::move(recorded)), inputs_(inputs), outputs_(outputs), has_ssru_(has_ssru) {}

  void read_encoder(ModelAttention& attention, const std::vector<std::int64_t>& active) {
    attention.encoder.push_back(read_self_attention(inputs_, active));
  }

  void read_decoder(ModelAttention& attention, const std::vector<std::int64_t>& active) {
    if (!has_ssru_) attention.decoder.push_back(read_self_attention(outputs_, active));
    if (inputs_ > 0)
      attention.cross.push_back(to_dense(recorded_[next_++], outputs_, active, inputs_, all_nodes(inputs_)));
  }

 private:
  /// The sources of the recorded relation are all nodes or, with HaltedKeys::kDropped, the active nodes.
  DenseAttention read_self_attention(std::int64_t nodes, const std::vector<std::int64_t>& active) {
    const RecordedAttention& recorded = recorded_[next_++];
    const bool has_all_nodes = recorded.relation.num_sources() == nodes;
    return to_dense(recorded, nodes, active, nodes, has_all_nodes ? all_nodes(nodes) : active);
  }

  std::vector<RecordedAttention> recorded_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  bool has_ssru_;
  std::size_t next_ = 0;
};

/// Returns the number of layers or ponder steps of each node.
NodePonderSteps count_layers(const SequenceModel& model, const Batch& batch, const StopRequest* stop) {
  const TransformerOptions& options = model.options();
  if (options.kind == ModelKind::kUniversal) {
    // The recorder records nothing; its callback is called in each step.
    const AttentionRecorder recorder(
        [stop](const Relation&, const AttentionRecorder::Weights&) { throw_if_set(stop); });
    return model.ponder_steps(batch);
  }
  return {std::vector<std::int64_t>(batch.input_tokens.size(), options.num_encoder_layers()),
          std::vector<std::int64_t>(batch.output_tokens.size(), options.decoder_layers)};
}

}  // namespace

ModelAttention record_attention(const SequenceModel& model, const Batch& batch, const StopRequest* stop) {
  const NodePonderSteps steps = count_layers(model, batch, stop);
  RecordReader reader(record(model, batch, stop), std::ssize(batch.input_tokens), std::ssize(batch.output_tokens),
                      model.options().has_ssru());
  ModelAttention attention;
  for (std::size_t step = 0; static_cast<std::int64_t>(step) < most_steps(steps.encoder); ++step) {
    throw_if_set(stop);
    reader.read_encoder(attention, active_nodes(step, steps.encoder));
  }
  for (std::size_t step = 0; static_cast<std::int64_t>(step) < most_steps(steps.decoder); ++step) {
    throw_if_set(stop);
    reader.read_decoder(attention, active_nodes(step, steps.decoder));
  }
  return attention;
}

}  // namespace edgewise
