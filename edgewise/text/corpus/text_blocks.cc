// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/text_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace edgewise {
namespace {

std::uint64_t fingerprint_of(const SentencePairs& pairs) {
  TextHash hash;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    hash.add(pairs.inputs[i]);
    hash.add(pairs.outputs[i]);
    if (pairs.links.empty()) continue;
    for (const auto& [input, output] : pairs.links[i]) hash.add(fmt::format("{}-{}", input, output));
  }
  return hash.value();
}

}  // namespace

TextInMemory::TextInMemory(SentencePairs pairs) : pairs_(std::move(pairs)), fingerprint_(fingerprint_of(pairs_)) {}

std::size_t TextInMemory::begin_of(std::int64_t block) const {
  return std::min(pairs_.size(), static_cast<std::size_t>(block * kBlockSize));
}

std::int64_t TextInMemory::num_blocks() const {
  return (static_cast<std::int64_t>(pairs_.size()) + kBlockSize - 1) / kBlockSize;
}

std::int64_t TextInMemory::num_pairs(std::int64_t block) const {
  return static_cast<std::int64_t>(begin_of(block + 1) - begin_of(block));
}

SentencePairs TextInMemory::read(std::int64_t block) const {
  const auto part = [&](const auto& of_pairs) {
    const auto begin = of_pairs.begin() + static_cast<std::ptrdiff_t>(begin_of(block));
    return std::vector(begin, begin + num_pairs(block));
  };
  SentencePairs pairs = {.inputs = part(pairs_.inputs), .outputs = part(pairs_.outputs), .report = {}};
  if (!pairs_.links.empty()) pairs.links = part(pairs_.links);
  return pairs;
}

SentencePairs sample_pairs(const TextBlocks& text, std::int64_t max_pairs) {
  const std::int64_t all = text.report().kept;
  const std::int64_t wanted = max_pairs == 0 ? all : std::min(max_pairs, all);
  SentencePairs chosen;
  std::int64_t number = 0;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    SentencePairs pairs = text.read(block);
    for (std::size_t i = 0; i < pairs.size(); ++i, ++number) {
      // Takes each pair at which number·wanted/all reaches the next whole number.
      if ((number + 1) * wanted / all == number * wanted / all) continue;
      chosen.inputs.push_back(std::move(pairs.inputs[i]));
      chosen.outputs.push_back(std::move(pairs.outputs[i]));
    }
  }
  chosen.report.kept = static_cast<std::int64_t>(chosen.size());
  return chosen;
}

}  // namespace edgewise
