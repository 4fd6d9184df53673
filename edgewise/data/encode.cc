// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encode.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/data/link_tokens.h"
#include "edgewise/text/corpus/text_blocks.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaller = "PairEncoder";

void check_can_sample(const Sampling& sampling, const Vocabulary& vocabulary, std::string_view side) {
  check(sampling.strength == 0.0 || vocabulary.piece_model(),
        "PairEncoder: vocabulary.{}_sampling is {}, but the vocabulary is of {}, needs sentencepiece", side,
        sampling.strength, enum_name(vocabulary.kind()));
}

std::vector<std::int64_t> add_frame(const std::vector<std::int64_t>& tokens, const SentenceFrame& frame) {
  std::vector<std::int64_t> framed = frame.before;
  framed.reserve(framed.size() + tokens.size() + frame.after.size());
  framed.insert(framed.end(), tokens.begin(), tokens.end());
  framed.insert(framed.end(), frame.after.begin(), frame.after.end());
  return framed;
}

}  // namespace

TokenPair frame_pair(const std::vector<std::int64_t>& input, const SentenceFrame& input_frame,
                     const std::vector<std::int64_t>& output, const SentenceFrame& output_frame) {
  return {.input = add_frame(input, input_frame), .output = add_frame(output, output_frame)};
}

EncodeOptions make_encode_options(const DataOptions& data) {
  return {.max_length = data.max_length,
          .too_long = data.too_long,
          .min_length = data.min_length,
          .max_ratio = data.max_ratio,
          .end_input = data.end_input,
          .languages = {data.input_language, data.output_language}};
}

std::string EncodeReport::describe_skipped() const {
  return describe_counts("pair", {{empty, "with a side without tokens"},
                                  {too_long, "with too long a sentence"},
                                  {too_short, "with too short a sentence"},
                                  {uneven, "with sides of too different length"}});
}

EncodeReport& EncodeReport::operator+=(const EncodeReport& other) {
  kept += other.kept;
  empty += other.empty;
  too_long += other.too_long;
  too_short += other.too_short;
  uneven += other.uneven;
  truncated += other.truncated;
  return *this;
}

PairEncoder::PairEncoder(std::shared_ptr<const Vocabulary> input_vocabulary,
                         std::shared_ptr<const Vocabulary> output_vocabulary, const EncodeOptions& options)
    : input_vocabulary_(std::move(input_vocabulary)),
      output_vocabulary_(std::move(output_vocabulary)),
      options_(options) {
  check_can_sample(options.input_sampling, *input_vocabulary_, "input");
  check_can_sample(options.output_sampling, *output_vocabulary_, "output");
  check_sentence_options(*input_vocabulary_, *output_vocabulary_, options.end_input, options.languages, kCaller);
  output_frame_ = frame_output(*output_vocabulary_, options.languages.output, kCaller);
}

FramedInput PairEncoder::frame(std::string_view input) const {
  return frame_input(*input_vocabulary_, input, options_.end_input, options_.languages, kCaller);
}

bool PairEncoder::exceeds_max_length(const Tokens& tokens) const {
  return options_.max_length > 0 && std::ssize(tokens) > options_.max_length;
}

/// Counts a pair in `report` and returns whether the pair is kept.
bool PairEncoder::check_and_count(const Tokens& input, const Tokens& output, EncodeReport& report) const {
  const auto shorter = std::min(std::ssize(input), std::ssize(output));
  const auto longer = std::max(std::ssize(input), std::ssize(output));
  std::int64_t EncodeReport::*reason = nullptr;
  if (shorter == 0) {
    reason = &EncodeReport::empty;
  } else if (options_.too_long == LongSentences::kSkip && (exceeds_max_length(input) || exceeds_max_length(output))) {
    reason = &EncodeReport::too_long;
  } else if (shorter < options_.min_length) {
    reason = &EncodeReport::too_short;
  } else if (options_.max_ratio > 0.0 &&
             static_cast<double>(longer) > options_.max_ratio * static_cast<double>(shorter)) {
    reason = &EncodeReport::uneven;
  }
  ++(report.*(reason != nullptr ? reason : &EncodeReport::kept));
  if (reason == nullptr && (exceeds_max_length(input) || exceeds_max_length(output))) ++report.truncated;
  return reason == nullptr;
}

void PairEncoder::count(std::string_view input, std::string_view output, EncodeReport& report) const {
  check_and_count(input_vocabulary_->encode(frame(input).text), output_vocabulary_->encode(output), report);
}

void PairEncoder::sample_tokens(const Vocabulary& vocabulary, std::string_view sentence, const Sampling& sampling,
                                std::uint64_t seed, Tokens& tokens) const {
  if (sampling.strength == 0.0 || exceeds_max_length(tokens)) return;
  Tokens sample = vocabulary.sample(sentence, sampling, seed);
  if (!exceeds_max_length(sample)) tokens = std::move(sample);
}

void PairEncoder::replace_by_changed(std::uint64_t seed, AugmentedPair& texts, Tokens& inputs, Tokens& outputs) const {
  AugmentedPair changed = augment_pair(texts.input, texts.output, options_.augment, seed);
  if (changed == texts) return;
  Tokens changed_inputs = input_vocabulary_->encode(changed.input);
  Tokens changed_outputs = output_vocabulary_->encode(changed.output);
  for (const Tokens* tokens : {&changed_inputs, &changed_outputs}) {
    if (tokens->empty() || exceeds_max_length(*tokens)) return;
  }
  texts = std::move(changed);
  inputs = std::move(changed_inputs);
  outputs = std::move(changed_outputs);
}

std::optional<TokenPair> PairEncoder::encode(std::string_view input, std::string_view output, std::uint64_t seed,
                                             EncodeReport& report, std::span<const WordLink> links) const {
  const FramedInput framed = frame(input);
  Tokens inputs = input_vocabulary_->encode(framed.text);
  Tokens outputs = output_vocabulary_->encode(output);
  if (!check_and_count(inputs, outputs, report)) return std::nullopt;
  AugmentedPair texts = {std::string(framed.text), std::string(output)};
  if (options_.augment.changes_pairs()) replace_by_changed(mix(seed, 2), texts, inputs, outputs);
  sample_tokens(*input_vocabulary_, texts.input, options_.input_sampling, mix(seed, 0), inputs);
  sample_tokens(*output_vocabulary_, texts.output, options_.output_sampling, mix(seed, 1), outputs);
  for (Tokens* tokens : {&inputs, &outputs}) {
    if (exceeds_max_length(*tokens)) tokens->resize(static_cast<std::size_t>(options_.max_length));
  }
  TokenPair pair = frame_pair(inputs, framed.frame, outputs, output_frame_);
  if (links.empty()) return pair;
  const auto code_bytes = static_cast<std::size_t>(framed.text.data() - input.data());
  pair.links = link_tokens({*input_vocabulary_, texts.input, inputs, framed.frame, input.substr(0, code_bytes)},
                           {*output_vocabulary_, texts.output, outputs, output_frame_}, links);
  return pair;
}

std::uint64_t PairEncoder::fingerprint() const {
  TextHash hash;
  for (const auto& vocabulary : {input_vocabulary_, output_vocabulary_}) {
    hash.add(vocabulary->serialize());
    hash.add(vocabulary->serialize_case());
    // Runs that began before there were mapped vocabularies keep their fingerprints.
    if (vocabulary->kind() == VocabularyKind::kMapped) hash.add(vocabulary->serialize_pieces());
  }
  if (!options_.languages.input.empty() || !options_.languages.output.empty()) {
    hash.add(options_.languages.input);
    hash.add(options_.languages.output);
  }
  std::uint64_t fingerprint = hash.value();
  const auto add = [&fingerprint](std::uint64_t value) { fingerprint = mix(fingerprint, value); };
  for (const std::int64_t option :
       {options_.max_length, static_cast<std::int64_t>(options_.too_long), options_.min_length,
        std::int64_t{options_.end_input}, options_.input_sampling.best, options_.output_sampling.best}) {
    add(static_cast<std::uint64_t>(option));
  }
  for (const double option :
       {options_.max_ratio, options_.input_sampling.strength, options_.output_sampling.strength}) {
    add(std::bit_cast<std::uint64_t>(option));
  }
  if (const AugmentOptions& augment = options_.augment; augment.changes_pairs()) {
    for (const double share : {augment.upper_case, augment.title_case, augment.no_stop, augment.typos}) {
      add(std::bit_cast<std::uint64_t>(share));
    }
  }
  return fingerprint;
}

void check_any_kept(const EncodeReport& report) {
  check(report.kept > 0, "encode_pairs: none of {} pairs is left, needs at least one; left out: {}",
        report.num_skipped(), report.describe_skipped());
}

EncodedPairs encode_pairs(const SentencePairs& pairs, const PairEncoder& encoder, const StopRequest* stop) {
  EncodedPairs encoded;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    throw_if_set(stop);
    auto pair = encoder.encode(pairs.inputs[i], pairs.outputs[i], 0, encoded.report);
    if (pair) encoded.pairs.push_back(std::move(*pair));
  }
  check_any_kept(encoded.report);
  return encoded;
}

}  // namespace edgewise
