// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/language_task.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/positions/position_formula.h"

namespace edgewise {
namespace {

/// Returns the first chunk of each batch, and at the end the number of chunks. A batch has at most batch.tokens tokens
/// and batch.sentences chunks, but at least one chunk.
std::vector<std::size_t> cut_chunks(const std::vector<CoverChunk>& chunks, const BatchOptions& options) {
  constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t most_tokens = options.tokens > 0 ? options.tokens : kNoLimit;
  const std::int64_t most_chunks = options.sentences > 0 ? options.sentences : kNoLimit;
  std::vector<std::size_t> begins = {0};
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::int64_t more = std::ssize(chunks[i].tokens) - 1;
    const auto before = static_cast<std::int64_t>(i - begins.back());
    if (before > 0 && (tokens + more > most_tokens || before == most_chunks)) {
      begins.push_back(i);
      tokens = 0;
    }
    tokens += more;
  }
  begins.push_back(chunks.size());
  return begins;
}

/// Counts the predicted tokens of chunks, also those that are only context.
std::int64_t count_labels(const std::vector<CoverChunk>& chunks) {
  std::int64_t labels = 0;
  for (const CoverChunk& chunk : chunks) labels += std::ssize(chunk.tokens) - 1;
  return labels;
}

/// Makes a batch of chunks. Labels that do not count are `ignored`, unless it is negative.
Batch make_cover_batch(std::span<const CoverChunk> chunks, std::int64_t ignored) {
  std::vector<TokenPair> texts;
  for (const CoverChunk& chunk : chunks) texts.push_back({{}, chunk.tokens});
  Batch batch = make_batch(texts);
  if (ignored < 0) return batch;
  auto label = batch.labels.begin();
  for (const CoverChunk& chunk : chunks) {
    std::fill_n(label, chunk.first, ignored);
    label += std::ssize(chunk.tokens) - 1;
  }
  return batch;
}

/// Returns the tokens of each chunk that are only context, as chunks in which they count.
std::vector<CoverChunk> list_contexts(const std::vector<CoverChunk>& chunks) {
  std::vector<CoverChunk> contexts;
  for (const CoverChunk& chunk : chunks) {
    if (chunk.first > 0) contexts.push_back({{chunk.tokens.begin(), chunk.tokens.begin() + chunk.first + 1}, 0});
  }
  return contexts;
}

/// Measures the loss and the accuracy per predicted token of chunks. A token whose label is ignored counts as a token
/// without loss.
Validation measure_chunks(const TranslationModel& model, const std::vector<CoverChunk>& chunks, const StopRequest* stop,
                          ProcessGroup& processes) {
  const LossOptions options = {.smoothing = 0.0, .ignored = model.loss_options().ignored};
  const std::vector<std::size_t> begins = cut_chunks(chunks, model.experiment.batch);
  const auto make = [&](std::size_t number) {
    const std::size_t begin = begins[number];
    return make_cover_batch(std::span(chunks).subspan(begin, begins[number + 1] - begin), options.ignored);
  };
  Validation validation;
  measure_by_token(model, begins.size() - 1, make, options, stop, processes, validation);
  return validation;
}

std::optional<TokenPair> encode_recorded_text(const TranslationModel& model) {
  const std::string& text = model.experiment.recorded_pair.output;
  if (text.empty()) return std::nullopt;
  return encode_text(model, text, "train");
}

}  // namespace

std::int64_t EvaluationText::count_tokens() const {
  std::int64_t context = 0;
  for (const CoverChunk& chunk : chunks) context += chunk.first;
  return count_labels(chunks) - context;
}

EvaluationText encode_evaluation_text(const TransformerOptions& model, const DocumentText& text,
                                      const Vocabulary& vocabulary, const CoverOptions& options,
                                      const StopRequest* stop) {
  EvaluationText encoded;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    for (const Passage& passage : text.read(block)) {
      encoded.bytes += std::ssize(passage.text);
      if (vocabulary.kind() == VocabularyKind::kBytes) continue;
      encoded.characters += static_cast<std::int64_t>(count_code_points(passage.text));
    }
  }
  const std::int64_t positions = model.num_learned_positions();
  const auto add = [&](CoverChunk chunk) {
    if (positions > 0) check_learned_position(std::ssize(chunk.tokens) - 2, positions, "evaluate");
    encoded.chunks.push_back(std::move(chunk));
  };
  cover_documents(text, vocabulary, options, add, stop);
  return encoded;
}

Validation evaluate(const TranslationModel& model, const EvaluationText& text, const StopRequest* stop,
                    ProcessGroup& processes) {
  check(!text.chunks.empty(), "evaluate: text has no chunks, needs at least one");
  Validation validation = measure_chunks(model, text.chunks, stop, processes);
  const auto labels = static_cast<double>(count_labels(text.chunks));
  const std::vector<CoverChunk> contexts = list_contexts(text.chunks);
  if (model.loss_options().ignored < 0 && !contexts.empty()) {
    // Without a label to ignore, the context counts too. Alone it has the same loss, since later tokens have no effect.
    const Validation context = measure_chunks(model, contexts, stop, processes);
    const double share = static_cast<double>(count_labels(contexts)) / labels;
    validation.loss -= share * context.loss;
    validation.accuracy -= share * context.accuracy;
  }
  const auto tokens = static_cast<double>(text.count_tokens());
  validation.loss *= labels / tokens;
  validation.accuracy *= labels / tokens;
  const double bits = validation.loss * tokens / std::numbers::ln2;
  if (text.characters > 0) validation.bits_per_character = bits / static_cast<double>(text.characters);
  validation.bits_per_byte = bits / static_cast<double>(text.bytes);
  return validation;
}

LanguageTask::LanguageTask(TranslationModel language_model, EvaluationText validation, ProcessGroup& processes)
    : ModelTask(std::move(language_model)),
      validation_(std::move(validation)),
      processes_(processes),
      recorded_text_(encode_recorded_text(model())) {}

Validation LanguageTask::validate(const StopRequest& stop) {
  Validation validation = evaluate(model(), validation_, &stop, processes_);
  if (recorded_text_) validation.attention = attention_json(*recorded_text_, stop);
  return validation;
}

}  // namespace edgewise
