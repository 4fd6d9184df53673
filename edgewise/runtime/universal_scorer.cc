// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/universal_scorer.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/graph/picked.h"
#include "edgewise/runtime/decoding_memory.h"
#include "edgewise/runtime/layer_rows.h"
#include "edgewise/runtime/shown_attention.h"
#include "edgewise/runtime/thinking_rows.h"
#include "edgewise/runtime/vocabulary_output.h"
#include "edgewise/runtime/word_vectors.h"

namespace edgewise {
namespace {

using kernels::SourceRange;

const NormParameters kReadByNobody;

/// Whom some rows see: ranges of all pieces there are, or of those kept of them.
template <typename T>
struct Seen {
  std::vector<SourceRange> ranges;
  std::vector<const T*> kept = {};
  const T* const* pieces;
};

template <typename T>
class UniversalScorer : public Scorer {
  using Kept = Cached<T>;

 public:
  UniversalScorer(const Weights<T>& weights, const CrossHeads& attention);

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  template <typename Step, typename Halt>
  void think(ThinkingRows& thinking, std::span<const std::int64_t> positions, const NormParameters& final_norm,
             Step step, Halt halt);
  void take_leaving(const ThinkingRows& thinking);
  void add_signals(const ThinkingRows& thinking, std::span<const NodeIndex> rows, std::int64_t step);
  const float* project_halted(const AttentionParameters<T>& attention);

  void encode(std::span<const Tokens> inputs);
  void encoder_step();
  void encoder_halt();
  void write_encoder_pieces(std::span<const NodeIndex> rows, const float* projected);
  void decoder_step(StepResult* attention);
  void decoder_halt();

  template <typename U, typename Place>
  void filter(const FilterParameters& filter, const NormParameters& norm, std::span<const NodeIndex> active,
              std::span<U* const> pieces, const Sources<U>& all, Place place_of, std::int64_t offset);
  template <typename U>
  void show_halted(const FilterParameters& filter, const NormParameters& norm, std::span<U* const> pieces,
                   std::int64_t offset);

  template <typename U, typename Thinks>
  Seen<U> seen_by(std::span<const NodeIndex> rows, const Sources<U>& all, Thinks still_thinks) const;

  std::int64_t piece_size() const { return 2 * width_ + filtered_; }
  bool is(HaltedKeys halted_keys) const { return weights_.options.universal.halted_keys == halted_keys; }

  const Weights<T>& weights_;
  std::int64_t width_;
  std::int64_t filtered_;  // numbers that a filter reads of a piece, behind key and value
  WordVectors words_;
  LayerRows<T> rows_;    // that still think
  LayerRows<T> halted_;  // for what they show
  VocabularyOutput output_;
  ShownAttention shown_;
  DecodingMemory<Kept> memory_;
  ThinkingRows encoder_, decoder_;

  std::vector<NodeIndex> before_;  // rows that were active in the step that has just ended
  std::vector<std::int64_t> tokens_, positions_;
  Sources<float> read_;                                       // whom inputs' tokens see
  std::vector<float*> read_pieces_;                           // the same pieces, to be written
  FloatRoom read_room_;                                       // their keys and values
  FloatRoom filtered_room_;                                   // what a filter makes of rows
  std::vector<NodeIndex> gone_;                               // those of them that have halted
  std::vector<float> gone_states_;                            // in what states, for HaltedKeys::kRecomputed
  std::unordered_map<const Kept*, std::int64_t> node_steps_;  // by a node's piece, for HaltedKeys::kDropped
};

template <typename T>
UniversalScorer<T>::UniversalScorer(const Weights<T>& weights, const CrossHeads& attention)
    : weights_(weights),
      width_(weights.heads.width()),
      filtered_(weights.encoder_filter.is_on() ? weights.options.size : 0),
      words_(weights.options),
      rows_(weights.options, weights.heads),
      halted_(weights.options, weights.heads),
      shown_({.layer = -1, .head = attention.head}, weights.heads, 1),
      memory_({weights.options.decoder_layers, 1, width_, filtered_}),
      encoder_(weights.options, weights.encoder_halting, encoder_adapts(weights.options.universal.adaptive),
               weights.options.encoder_layers),
      decoder_(weights.options, weights.decoder_halting, decoder_adapts(weights.options.universal.adaptive),
               weights.options.decoder_layers) {}

/// Rows' first states are written. Afterwards they are read through the final norm.
template <typename T>
template <typename Step, typename Halt>
void UniversalScorer<T>::think(ThinkingRows& thinking, std::span<const std::int64_t> positions,
                               const NormParameters& final_norm, Step step, Halt halt) {
  for (thinking.begin(positions); !thinking.are_done();) {
    thinking.add_signals(words_, rows_.state());
    step();
    before_ = thinking.active();
    thinking.end_step(rows_.state());
    if (!thinking.leaving().empty()) halt();
    rows_.keep(thinking.staying());
  }
  thinking.write(rows_.begin(std::ssize(positions)));
  rows_.read_through(final_norm);
}

/// The states of the rows that leave, to halted_.
template <typename T>
void UniversalScorer<T>::take_leaving(const ThinkingRows& thinking) {
  const std::int64_t size = weights_.options.size;
  float* to = halted_.begin(std::ssize(thinking.leaving()));
  for (const NodeIndex row : thinking.leaving()) to = std::copy_n(rows_.state() + row * size, size, to);
}

/// Those of a step, to halted_, where the state of row `rows[i]` of the side is row i.
template <typename T>
void UniversalScorer<T>::add_signals(const ThinkingRows& thinking, std::span<const NodeIndex> rows, std::int64_t step) {
  float* state = halted_.state();
  for (const NodeIndex row : rows) {
    thinking.add_signal(words_, row, step, state);
    state += weights_.options.size;
  }
}

/// Queries, keys and values of what is in halted_.
template <typename T>
const float* UniversalScorer<T>::project_halted(const AttentionParameters<T>& attention) {
  halted_.read_through(halted_.first_norm(attention.norm));
  return halted_.project(attention.query_key_value);
}

/// Whom some rows see.
template <typename T>
template <typename U, typename Thinks>
Seen<U> UniversalScorer<T>::seen_by(std::span<const NodeIndex> rows, const Sources<U>& all, Thinks still_thinks) const {
  Seen<U> seen = {.ranges = picked<SourceRange>(all.ranges, rows), .pieces = all.pieces.data()};
  if (!is(HaltedKeys::kDropped)) return seen;
  for (SourceRange& range : seen.ranges) {
    const std::int64_t first = range.begin;
    range.begin = std::ssize(seen.kept);
    for (std::int64_t i = first; i < first + range.count; ++i) {
      const U* piece = all.pieces[static_cast<std::size_t>(i)];
      if (still_thinks(piece)) seen.kept.push_back(piece);
    }
    range.count = std::ssize(seen.kept) - range.begin;
  }
  seen.pieces = seen.kept.data();
  return seen;
}

/// Behind attention: feed-forward, with that norm, is to read what the filter makes of the active rows' neighbours
/// instead of the rows. What is read of a row lies at `offset` of its piece, which is number `place_of(row)` of all.
template <typename T>
template <typename U, typename Place>
void UniversalScorer<T>::filter(const FilterParameters& filter, const NormParameters& norm,
                                std::span<const NodeIndex> active, std::span<U* const> pieces, const Sources<U>& all,
                                Place place_of, std::int64_t offset) {
  if (!filter.is_on()) return;
  const std::int64_t size = weights_.options.size;
  write_pieces<U>(picked<U*>(pieces, active), offset, size, rows_.normed(rows_.first_norm(norm)), size);
  float* filtered = filtered_room_.of(rows_.rows(), size);
  float* next = filtered;
  for (const NodeIndex row : active) {
    const SourceRange& seen = all.ranges[static_cast<std::size_t>(row)];
    sum_neighbours(filter, size, seen, place_of(row), all.pieces.data(), offset, next);
    next += size;
  }
  rows_.read_instead(filtered);
}

/// What a filter reads of the rows in halted_.
template <typename T>
template <typename U>
void UniversalScorer<T>::show_halted(const FilterParameters& filter, const NormParameters& norm,
                                     std::span<U* const> pieces, std::int64_t offset) {
  if (!filter.is_on()) return;
  const std::int64_t size = weights_.options.size;
  write_pieces<U>(pieces, offset, size, halted_.normed(halted_.first_norm(norm)), size);
}

template <typename T>
void UniversalScorer<T>::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const TimedWork timed("read");
  encode(inputs);  // first: what it throws leaves the places as they are
  memory_.read(places, inputs);
  const float* projected = rows_.project(weights_.decoder.front().cross_attention.key_value);
  write_pieces(memory_.rows(), memory_.input_offset(0), 2 * width_, projected, 2 * width_);
}

template <typename T>
void UniversalScorer<T>::encode(std::span<const Tokens> inputs) {
  tokens_.clear();
  positions_.clear();
  read_.clear();
  gone_.clear();
  gone_states_.clear();
  for (const Tokens& input : inputs) {
    const SourceRange range = {std::ssize(tokens_), std::ssize(input)};
    read_.ranges.insert(read_.ranges.end(), input.size(), range);
    tokens_.insert(tokens_.end(), input.begin(), input.end());
    for (std::int64_t position = 0; position < range.count; ++position) positions_.push_back(position);
  }
  const std::int64_t count = std::ssize(tokens_);
  float* next = read_room_.of(count, piece_size());
  read_pieces_.clear();
  for (std::int64_t row = 0; row < count; ++row) read_pieces_.push_back(next + row * piece_size());
  read_.pieces.assign(read_pieces_.begin(), read_pieces_.end());

  words_.write(weights_.input_words, tokens_, "read", rows_.begin(count));
  think(
      encoder_, positions_, weights_.encoder_norm, [this] { encoder_step(); }, [this] { encoder_halt(); });
}

template <typename T>
void UniversalScorer<T>::write_encoder_pieces(std::span<const NodeIndex> rows, const float* projected) {
  write_pieces<float>(picked<float*>(read_pieces_, rows), 0, 2 * width_, projected + width_, 3 * width_);
}

template <typename T>
void UniversalScorer<T>::encoder_step() {
  const EncoderLayerParameters<T>& layer = weights_.encoder.front();
  if (is(HaltedKeys::kRecomputed) && !gone_.empty()) {
    std::ranges::copy(gone_states_, halted_.begin(std::ssize(gone_)));
    add_signals(encoder_, gone_, encoder_.step());
    write_encoder_pieces(gone_, project_halted(layer.self_attention));
  }
  rows_.read_through(rows_.first_norm(layer.self_attention.norm));
  const float* projected = rows_.project(layer.self_attention.query_key_value);
  write_encoder_pieces(encoder_.active(), projected);
  const auto still_thinks = [&](const float* piece) {
    return std::ranges::binary_search(encoder_.active(), (piece - read_.pieces.front()) / piece_size());
  };
  const Seen<float> seen = seen_by(encoder_.active(), read_, still_thinks);
  rows_.attend(layer.self_attention,
               RowSources<float>{.ranges = seen.ranges.data(),
                                 .pieces = seen.pieces,
                                 .key_offset = 0,
                                 .value_offset = width_,
                                 .query = projected,
                                 .query_stride = 3 * width_},
               rows_.first_norm(layer.feed_forward.norm));
  const auto place_of = [](NodeIndex row) { return static_cast<std::int64_t>(row); };
  filter<float>(weights_.encoder_filter, layer.feed_forward.norm, encoder_.active(), read_pieces_, read_, place_of,
                2 * width_);
  rows_.feed_forward(layer.feed_forward, kReadByNobody);
}

// A stale row needs nothing: its last step's key and value lie there already.
template <typename T>
void UniversalScorer<T>::encoder_halt() {
  if (encoder_.are_done()) return;
  const std::vector<NodeIndex> rows = picked<NodeIndex>(before_, encoder_.leaving());
  take_leaving(encoder_);
  if (is(HaltedKeys::kFrozen)) {
    const EncoderLayerParameters<T>& layer = weights_.encoder.front();
    write_encoder_pieces(rows, project_halted(layer.self_attention));
    show_halted<float>(weights_.encoder_filter, layer.feed_forward.norm, picked<float*>(read_pieces_, rows),
                       2 * width_);
  }
  if (is(HaltedKeys::kRecomputed)) {
    const float* states = halted_.state();
    gone_states_.insert(gone_states_.end(), states, states + std::ssize(rows) * weights_.options.size);
    gone_.insert(gone_.end(), rows.begin(), rows.end());
  }
}

template <typename T>
void UniversalScorer<T>::decoder_step(StepResult* attention) {
  const DecoderLayerParameters<T>& layer = weights_.decoder.front();
  rows_.read_through(rows_.first_norm(layer.self_attention.norm));
  const float* projected = rows_.project(layer.self_attention.query_key_value);
  const std::int64_t offset = memory_.node_offset(decoder_.step());
  write_pieces<Kept>(picked<Kept*>(memory_.rows(), decoder_.active()), offset, 2 * width_, projected + width_,
                     3 * width_);
  const auto still_thinks = [this](const Kept* piece) { return node_steps_.at(piece) > decoder_.step(); };
  const Seen<Kept> own = seen_by(decoder_.active(), memory_.ancestors(), still_thinks);
  rows_.attend(layer.self_attention,
               RowSources<Kept>{.ranges = own.ranges.data(),
                                .pieces = own.pieces,
                                .key_offset = offset,
                                .value_offset = offset + width_,
                                .query = projected,
                                .query_stride = 3 * width_},
               rows_.first_norm(layer.cross_attention.norm));

  if (attention != nullptr && decoder_.step() == 0) shown_.begin(memory_.inputs().ranges);
  const std::vector<SourceRange> inputs = picked<SourceRange>(memory_.inputs().ranges, decoder_.active());
  const std::vector<float*> shown =
      attention != nullptr ? picked<float*>(shown_.of_rows(), decoder_.active()) : std::vector<float*>();
  rows_.attend(layer.cross_attention,
               RowSources<Kept>{.ranges = inputs.data(),
                                .pieces = memory_.inputs().pieces.data(),
                                .key_offset = memory_.input_offset(0),
                                .value_offset = memory_.input_offset(0) + width_,
                                .query = rows_.project(layer.cross_attention.query),
                                .query_stride = width_,
                                .weights = shown.empty() ? nullptr : shown.data()},
               rows_.first_norm(layer.feed_forward.norm));
  const auto place_of = [this](NodeIndex row) {
    const SourceRange& ancestors = memory_.ancestors().ranges[static_cast<std::size_t>(row)];
    return ancestors.begin + ancestors.count - 1;
  };
  filter<Kept>(weights_.decoder_filter, layer.feed_forward.norm, decoder_.active(), memory_.rows(), memory_.ancestors(),
               place_of, offset + 2 * width_);
  rows_.feed_forward(layer.feed_forward, kReadByNobody);
}

// Later nodes may think longer: in all the steps that these do not take, they find what these show.
template <typename T>
void UniversalScorer<T>::decoder_halt() {
  const DecoderLayerParameters<T>& layer = weights_.decoder.front();
  const std::vector<NodeIndex> rows = picked<NodeIndex>(before_, decoder_.leaving());
  const std::vector<Kept*> pieces = picked<Kept*>(memory_.rows(), rows);
  if (is(HaltedKeys::kDropped)) {
    for (const Kept* piece : pieces) node_steps_[piece] = decoder_.step();
    return;
  }
  const float* projected = nullptr;
  if (is(HaltedKeys::kFrozen)) {
    take_leaving(decoder_);
    projected = project_halted(layer.self_attention);
  }
  for (std::int64_t later = decoder_.step(); later < weights_.options.decoder_layers; ++later) {
    if (is(HaltedKeys::kStale)) {
      const std::int64_t last = memory_.node_offset(decoder_.step() - 1);
      for (Kept* piece : pieces) std::copy_n(piece + last, 2 * width_, piece + memory_.node_offset(later));
      continue;
    }
    if (is(HaltedKeys::kRecomputed)) {
      take_leaving(decoder_);
      add_signals(decoder_, rows, later);
      projected = project_halted(layer.self_attention);
    }
    write_pieces<Kept>(pieces, memory_.node_offset(later), 2 * width_, projected + width_, 3 * width_);
    show_halted<Kept>(weights_.decoder_filter, layer.feed_forward.norm, pieces,
                      memory_.node_offset(later) + 2 * width_);
  }
}

template <typename T>
void UniversalScorer<T>::step(const StepRequest& request, StepResult& result) {
  const TimedWork timed("step");
  memory_.add(request.nodes);
  result.attention.clear();
  result.steps.clear();
  if (!request.nodes.empty()) {
    words_.write(weights_.words_of_output(), memory_.tokens(), "step", rows_.begin(std::ssize(memory_.tokens())));
    StepResult* attention = request.attention ? &result : nullptr;
    if (is(HaltedKeys::kDropped)) {
      for (const Kept* piece : memory_.rows()) node_steps_[piece] = weights_.options.decoder_layers;
    }
    think(
        decoder_, memory_.positions(), weights_.decoder_norm, [&] { decoder_step(attention); },
        [this] { decoder_halt(); });
    if (attention != nullptr) shown_.write(*attention);
    result.steps = decoder_.steps();
  }
  output_.write(weights_, rows_.read(), request, result);
}

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_universal_scorer(const Weights<T>& weights, const CrossHeads& attention) {
  return std::make_unique<UniversalScorer<T>>(weights, attention);
}

template std::unique_ptr<Scorer> make_universal_scorer(const Weights<float>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_universal_scorer(const Weights<BFloat16>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_universal_scorer(const Weights<std::int8_t>&, const CrossHeads&);

}  // namespace edgewise
