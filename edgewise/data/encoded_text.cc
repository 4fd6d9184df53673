// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encoded_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <span>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"

namespace edgewise {

std::int64_t count_repetitions(double weight, std::int64_t epoch, double draw) {
  if (weight == std::floor(weight)) return static_cast<std::int64_t>(weight);
  const auto up_to = [&](std::int64_t end) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(end) * weight + draw));
  };
  return up_to(epoch + 1) - up_to(epoch);
}

EncodedText::EncodedText(std::vector<TrainingText> corpora, PairEncoder encoder)
    : corpora_(std::move(corpora)), encoder_(std::move(encoder)) {
  check(!corpora_.empty(), "EncodedText: corpora are none, needs at least one");
  first_blocks_.push_back(0);
  for (const TrainingText& corpus : corpora_) {
    check(corpus.weight > 0.0, "EncodedText: {} has weight {}, needs one above 0", corpus.name, corpus.weight);
    first_blocks_.push_back(first_blocks_.back() + corpus.text->num_blocks());
  }
}

EncodedText::CorpusBlock EncodedText::find_block(std::int64_t block) const {
  const auto next = std::ranges::upper_bound(first_blocks_, block);
  const auto corpus = next - first_blocks_.begin() - 1;
  return {&corpora_[static_cast<std::size_t>(corpus)], block - *(next - 1)};
}

std::vector<Visit> EncodedText::visits() const {
  std::vector<Visit> visits;
  for (std::int64_t block = 0; block < num_blocks(); ++block) {
    const auto [corpus, number] = find_block(block);
    const auto pairs = static_cast<double>(corpus->text->num_pairs(number));
    for (std::int64_t copy = 0; static_cast<double>(copy) < corpus->weight; ++copy) {
      const double share = std::min(corpus->weight - static_cast<double>(copy), 1.0);
      visits.push_back({.block = block, .copy = copy, .pairs = share * pairs});
    }
  }
  return visits;
}

std::vector<TokenPair> EncodedText::read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const {
  const auto [corpus, number] = find_block(visit.block);
  const SentencePairs text = corpus->text->read(number);
  EncodeReport report;
  std::vector<TokenPair> pairs;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!visit.has_pair(static_cast<std::int64_t>(i))) continue;
    const std::uint64_t pair_seed = mix(mix(seed, static_cast<std::uint64_t>(visit.block)), i);
    const double draw = RandomStream(pair_seed).uniform();
    if (visit.copy >= count_repetitions(corpus->weight, epoch, draw)) continue;
    const std::uint64_t sample_seed =
        mix(mix(pair_seed, static_cast<std::uint64_t>(epoch)), static_cast<std::uint64_t>(visit.copy));
    const std::span<const WordLink> links =
        text.links.empty() ? std::span<const WordLink>() : std::span<const WordLink>(text.links[i]);
    auto pair = encoder_.encode(text.inputs[i], text.outputs[i], sample_seed, report, links);
    if (pair) pairs.push_back(std::move(*pair));
  }
  return pairs;
}

bool EncodedText::is_same_every_epoch() const {
  return !encoder_.options().is_random() && std::ranges::all_of(corpora_, [](const TrainingText& corpus) {
    return corpus.weight == std::floor(corpus.weight);
  });
}

std::uint64_t EncodedText::fingerprint() const {
  std::uint64_t hash = encoder_.fingerprint();
  for (const TrainingText& corpus : corpora_) {
    hash = mix(mix(hash, corpus.text->fingerprint()), std::bit_cast<std::uint64_t>(corpus.weight));
  }
  return hash;
}

EncodeReport EncodedText::count_pairs() const {
  EncodeReport all;
  std::mutex mutex;
  parallel_for(num_blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    EncodeReport report;
    for (std::int64_t block = begin; block < end; ++block) {
      const auto [corpus, number] = find_block(block);
      const SentencePairs text = corpus->text->read(number);
      for (std::size_t i = 0; i < text.size(); ++i) encoder_.count(text.inputs[i], text.outputs[i], report);
    }
    const std::lock_guard lock(mutex);
    all += report;
  });
  check_any_kept(all);
  return all;
}

}  // namespace edgewise
