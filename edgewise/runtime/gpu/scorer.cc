// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/scorer.h"

#include <span>
#include <vector>

#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/scatter_rows.h"
#include "edgewise/runtime/cross_attention_recorder.h"
#include "edgewise/runtime/gpu/array.h"
#include "edgewise/runtime/gpu/kv_cache.h"
#include "edgewise/runtime/gpu/layers.h"
#include "edgewise/runtime/gpu/output.h"
#include "edgewise/runtime/gpu/step_graphs.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/sublayer_runner.h"

// Shapes: R = rows, M = size of a state, E = edges.
namespace edgewise {
namespace {

/// Makes a GPU the thread's current one.
struct CurrentGpu {
  explicit CurrentGpu(std::int64_t gpu) : number(gpu) { device::use_gpu(gpu); }

  std::int64_t number;
};

/// The tokens of several inputs, one after the other, and the relation by which each of them attends to all tokens of
/// its input. The relation has intervals, or lists of edges where there are no kernels for intervals.
struct SentenceRelation {
  std::vector<std::int64_t> tokens, positions;
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<Interval> intervals;
  std::vector<NodeIndex> sources;

  SentenceRelation(std::span<const Tokens> inputs, bool has_intervals) {
    for (const Tokens& input : inputs) {
      const auto first = static_cast<NodeIndex>(tokens.size());
      const auto end = static_cast<NodeIndex>(tokens.size() + input.size());
      tokens.insert(tokens.end(), input.begin(), input.end());
      for (NodeIndex token = first; token < end; ++token) {
        positions.push_back(token - first);
        row_begin.push_back(row_begin.back() + end - first);
        if (has_intervals) {
          intervals.push_back({first, end});
        } else {
          for (NodeIndex source = first; source < end; ++source) sources.push_back(source);
        }
      }
    }
  }

  /// The relation in an upload.
  struct Uploaded {
    UploadedArray<EdgeIndex> row_begin;
    UploadedArray<Interval> intervals;
    UploadedArray<NodeIndex> sources;
    std::int64_t num_rows;
    bool has_intervals;

    RelationView view(Upload& upload) const {
      return {.num_sources = num_rows,
              .num_destinations = num_rows,
              .row_begin = upload.at(row_begin),
              .intervals = has_intervals ? upload.at(intervals) : nullptr,
              .sources = has_intervals ? nullptr : upload.at(sources)};
    }
  };

  Uploaded add(Upload& upload) const {
    return {upload.add(std::span(row_begin)), upload.add(std::span(intervals)), upload.add(std::span(sources)),
            std::ssize(tokens), !intervals.empty()};
  }
};

/// An EntryLists in an upload.
struct UploadedLists {
  UploadedArray<EdgeIndex> row_begin;
  UploadedArray<NodeIndex> entries;
  std::int64_t num_rows;

  static UploadedLists add(const EntryLists& lists, Upload& upload) {
    return {upload.add(std::span<const EdgeIndex>(lists.row_begin)),
            upload.add(std::span<const NodeIndex>(lists.entries)), lists.num_rows()};
  }

  RelationView relation(std::int64_t num_sources, Upload& upload) const {
    return {.num_sources = num_sources,
            .num_destinations = num_rows,
            .row_begin = upload.at(row_begin),
            .sources = upload.at(entries)};
  }
};

template <typename T>
class GpuScorer : public Scorer {
 public:
  GpuScorer(const GpuWeights<T>& weights, const CrossHeads& recorded_heads, std::int64_t gpu)
      : weights_(weights.weights),
        output_projection_(weights.output_projection()),
        gpu_(gpu),
        size_(weights_.options.size),
        input_embedding_(weights_.options),
        output_embedding_(weights_.options),
        rows_(weights_.options, stream_),
        inputs_(std::ssize(weights_.decoder.layers), size_),
        nodes_(std::ssize(weights_.decoder.layers), size_),
        output_(weights_.options.output_vocabulary, output_projection_.outputs),
        recorder_(recorded_heads, weights_.heads, std::ssize(weights_.decoder.layers)) {}

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    check_encoder_inputs(slots, inputs);
    if (inputs.empty()) return;
    device::use_gpu(gpu_.number);
    const std::int64_t head_size = size_ / weights_.options.heads;
    const SentenceRelation relation(inputs, kernels::can_attend_intervals<T>(head_size, head_size));
    upload_.begin();
    // First: an error must leave the slots unchanged.
    const GpuEmbedding::Rows rows =
        input_embedding_.add(relation.tokens, relation.positions, weights_.input_side(), "encode", upload_, stream_);
    index_.add_inputs(slots, inputs);
    inputs_.reserve(index_.num_input_entries(), stream_);
    const UploadedArray<T*> places = add_projected_places(rows.count);
    const UploadedArray<T*> entries = add_entries(inputs_);
    const SentenceRelation::Uploaded uploaded = relation.add(upload_);
    upload_.send(stream_);
    run_encoder(rows, places, uploaded.view(upload_));
    write_input_entries(entries);
  }

  void step(const StepRequest& request, StepResult& result) override {
    device::use_gpu(gpu_.number);
    index_.add_nodes(request.nodes);
    result.attention.clear();
    upload_.begin();
    output_.begin(request, upload_, stream_, result);
    if (!request.nodes.empty()) {
      run_step(request, result);
    } else {
      output_.write(request, result);
    }
  }

 private:
  /// Arrays of a step in the upload.
  struct StepArrays {
    GpuEmbedding::Rows rows;
    UploadedArray<T*> places;   // addresses of the rows' queries
    UploadedArray<T*> entries;  // addresses of the rows in the cache
    UploadedLists ancestors, inputs;
  };

  void run_encoder(const GpuEmbedding::Rows& rows, const UploadedArray<T*>& places, const RelationView& relation) {
    float* const states = rows_.begin(rows.count);
    input_embedding_.write(weights_.input_side(), rows, upload_, stream_, states);
    run_layers(rows_, weights_.encoder, [&](std::size_t i, const GpuNorm& next) {
      encoder_self_attend(weights_.encoder.layers[i].self_attention, places, relation, next);
    });
  }

  void encoder_self_attend(const AttentionParameters<OnGpu<T>>& attention, const UploadedArray<T*>& places,
                           const RelationView& relation, const GpuNorm& next) {
    const float* const projected = rows_.project(attention.query_key_value);
    const std::int64_t part = rows_.num_rows() * size_;
    for (std::int64_t i = 0; i < 3; ++i) {
      write_rows(projected + i * size_, 3 * size_, upload_.at(places), i * part);
    }
    rows_.attend(attention,
                 {.query = projected_.data(),
                  .key = projected_.data() + part,
                  .value = projected_.data() + 2 * part,
                  .relation = relation},
                 next);
  }

  void write_input_entries(const UploadedArray<T*>& entries) {
    for (std::size_t i = 0; i < weights_.decoder.layers.size(); ++i) {
      const auto layer = static_cast<std::int64_t>(i);
      const float* const projected = rows_.project(weights_.decoder.layers[i].cross_attention.key_value);
      write_rows(projected, 2 * size_, upload_.at(entries), inputs_.key_offset(layer));
      write_rows(projected + size_, 2 * size_, upload_.at(entries), inputs_.value_offset(layer));
    }
  }

  void run_step(const StepRequest& request, StepResult& result) {
    const StepArrays arrays = add_step();
    upload_.send(stream_);
    const auto begin_all = [&] {
      run_decoder(arrays, request.attention);
      output_.reduce(request, rows_.project(output_projection_), upload_, stream_);
    };
    if (request.attention || !output_.can_repeat(request)) {
      begin_all();
    } else {
      graphs_.begin(shape_of(request), stream_, begin_all);
    }
    device::wait_for(stream_);
    output_.write(request, result);
    if (request.attention) {
      recorder_.assign({host_edge_weights_.data(), static_cast<std::size_t>(num_edge_weights())});
      recorder_.write(result);
    }
  }

  /// The addresses of a step are those of the upload's arrays, and of memory that changes only when an array grows.
  StepGraphs::Shape shape_of(const StepRequest& request) {
    StepGraphs::Shape shape = output_.counts(request);
    shape.insert(shape.end(), upload_.offsets().begin(), upload_.offsets().end());
    return shape;
  }

  StepArrays add_step() {
    nodes_.reserve(index_.num_node_entries(), stream_);
    const GpuEmbedding::Rows rows =
        output_embedding_.add(index_.tokens(), index_.positions(), weights_.output_side(), "step", upload_, stream_);
    return {.rows = rows,
            .places = add_projected_places(rows.count),
            .entries = add_entries(nodes_),
            .ancestors = UploadedLists::add(index_.ancestors(), upload_),
            .inputs = UploadedLists::add(index_.inputs(), upload_)};
  }

  void run_decoder(const StepArrays& arrays, bool is_recorded) {
    float* const states = rows_.begin(arrays.rows.count);
    output_embedding_.write(weights_.output_side(), arrays.rows, upload_, stream_, states);
    run_layers(rows_, weights_.decoder, [&](std::size_t i, const GpuNorm& next) {
      decoder_self_attend(i, arrays, rows_.pre_norm(weights_.decoder.layers[i].cross_attention.norm));
      cross_attend(i, arrays, is_recorded, next);
    });
  }

  void decoder_self_attend(std::size_t number, const StepArrays& arrays, const GpuNorm& next) {
    const auto layer = static_cast<std::int64_t>(number);
    const AttentionParameters<OnGpu<T>>& attention = weights_.decoder.layers[number].self_attention;
    const float* const projected = rows_.project(attention.query_key_value);
    write_rows(projected, 3 * size_, upload_.at(arrays.places), 0);
    write_rows(projected + size_, 3 * size_, upload_.at(arrays.entries), nodes_.key_offset(layer));
    write_rows(projected + 2 * size_, 3 * size_, upload_.at(arrays.entries), nodes_.value_offset(layer));
    rows_.attend(attention,
                 {.query = projected_.data(),
                  .key = nodes_.keys(layer),
                  .value = nodes_.values(layer),
                  .relation = arrays.ancestors.relation(nodes_.num_entries(), upload_)},
                 next);
  }

  void cross_attend(std::size_t number, const StepArrays& arrays, bool is_recorded, const GpuNorm& next) {
    const auto layer = static_cast<std::int64_t>(number);
    const AttentionParameters<OnGpu<T>>& attention = weights_.decoder.layers[number].cross_attention;
    write_rows(rows_.project(attention.query), size_, upload_.at(arrays.places), 0);
    const GpuAttentionInput<T> input = {.query = projected_.data(),
                                        .key = inputs_.keys(layer),
                                        .value = inputs_.values(layer),
                                        .relation = arrays.inputs.relation(inputs_.num_entries(), upload_)};
    if (is_recorded && layer == recorder_.layer()) {
      float* const weights = edge_weights_.allocate(num_edge_weights(), stream_);
      rows_.write_weights(input, weights);
      begin_copy_to_host(weights, num_edge_weights(), host_edge_weights_, stream_);
    }
    rows_.attend(attention, input, next);
  }

  std::int64_t num_edge_weights() const { return std::ssize(index_.inputs().entries) * weights_.options.heads; }

  /// Adds the addresses of the rows in `projected_`, [3, R, M].
  UploadedArray<T*> add_projected_places(std::int64_t num_rows) {
    T* const projected = projected_.allocate(3 * num_rows * size_, stream_);
    addresses_.clear();
    for (std::int64_t row = 0; row < num_rows; ++row) addresses_.push_back(projected + row * size_);
    return upload_.add(std::span<T* const>(addresses_));
  }

  /// Adds the addresses of the rows' entries in a pool.
  UploadedArray<T*> add_entries(KeyValuePool<T>& pool) {
    addresses_.clear();
    for (const NodeIndex row : index_.rows()) addresses_.push_back(pool.entry(row));
    return upload_.add(std::span<T* const>(addresses_));
  }

  /// Converts M columns of each row to T, and writes them to `to[row] + offset`.
  void write_rows(const float* from, std::int64_t stride, T* const* to, std::int64_t offset) {
    kernels::scatter_rows(
        kernels::ScatterRows<T>{
            .rows = rows_.num_rows(), .columns = size_, .from = from, .stride = stride, .to = to, .offset = offset},
        stream_);
  }

  const Weights<OnGpu<T>>& weights_;
  const GpuLinear<T>& output_projection_;
  CurrentGpu gpu_;  // before the stream and all memory
  std::int64_t size_;
  GpuStream stream_;
  Upload upload_;
  GpuEmbedding input_embedding_, output_embedding_;
  GpuSublayers<T> rows_;
  GpuCacheIndex index_;
  KeyValuePool<T> inputs_, nodes_;
  GpuOutput output_;
  StepGraphs graphs_;
  CrossAttentionRecorder recorder_;
  GpuArray<T> projected_;
  GpuArray<float> edge_weights_;
  HostArray<float> host_edge_weights_;
  std::vector<T*> addresses_;
};

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_gpu_scorer(const GpuWeights<T>& weights, const CrossHeads& recorded_heads,
                                        std::int64_t gpu) {
  return std::make_unique<GpuScorer<T>>(weights, recorded_heads, gpu);
}

template std::unique_ptr<Scorer> make_gpu_scorer(const GpuWeights<float>&, const CrossHeads&, std::int64_t);
template std::unique_ptr<Scorer> make_gpu_scorer(const GpuWeights<BFloat16>&, const CrossHeads&, std::int64_t);

}  // namespace edgewise
