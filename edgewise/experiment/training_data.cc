// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/training_data.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace edgewise {
namespace {

void print_words(std::string_view what, const std::string& words) {
  if (!words.empty()) fmt::print("{}: {}\n", what, words);
}

EncodeOptions training_options(const Experiment& experiment) {
  const VocabularySection& vocabulary = experiment.vocabulary;
  EncodeOptions options = encode_options(experiment.data);
  options.input_sampling = {.strength = vocabulary.input_sampling, .best = vocabulary.sampling_best};
  options.output_sampling = {.strength = vocabulary.output_sampling, .best = vocabulary.sampling_best};
  return options;
}

}  // namespace

std::shared_ptr<const EncodedText> training_pairs(const Experiment& experiment, const Corpus& corpus,
                                                  const Vocabularies& vocabularies) {
  return std::make_shared<EncodedText>(
      corpus.train, PairEncoder(vocabularies.input, vocabularies.output, training_options(experiment)));
}

EvaluationPairs evaluation_pairs(const Experiment& experiment, SentencePairs sentences,
                                 const Vocabularies& vocabularies) {
  EvaluationPairs pairs{std::move(sentences), {}};
  if (pairs.sentences.size() == 0) return pairs;
  const EncodeOptions options{.end_input = experiment.data.end_input};
  pairs.encoded = encode_pairs(pairs.sentences, PairEncoder(vocabularies.input, vocabularies.output, options));
  return pairs;
}

void print_account(const Corpus& corpus) {
  for (const TrainingText& text : corpus.train) {
    const PairAccount& account = text.text->account();
    if (corpus.train.size() > 1) fmt::print("{}: {} pairs, weight {}\n", text.name, account.kept, text.weight);
    print_words("left out", account.skipped_in_words());
    for (const std::string& place : account.places) fmt::print("  {}\n", place);
    print_words("put right", account.repairs_in_words());
    print_words("warning", account.doubts_in_words());
  }
}

void print_account(const EncodeAccount& account) {
  print_words("left out", account.skipped_in_words());
  if (account.truncated > 0) fmt::print("shortened: {} pairs with too long a sentence\n", account.truncated);
}

}  // namespace edgewise
