// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encoded_documents.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

using TokenList = std::vector<std::int64_t>;

/// Adds the begin and the end token to the tokens of a passage that begins or ends a document.
TokenList frame_passage(const Passage& passage, const TokenList& tokens, const SpecialTokens& special) {
  TokenList framed;
  framed.reserve(tokens.size() + 2);
  if (passage.begins) framed.push_back(special.begin);
  framed.insert(framed.end(), tokens.begin(), tokens.end());
  if (passage.ends) framed.push_back(special.end);
  return framed;
}

/// Calls `visit(begin, end)` for each chunk of a passage that predicts `labels` tokens: the first one has `first`
/// labels, the others `length`.
void for_each_chunk(std::int64_t labels, std::int64_t first, std::int64_t length, auto&& visit) {
  for (std::int64_t begin = 0, end = std::min(first, labels); begin < labels;) {
    visit(begin, end);
    begin = end;
    end = std::min(end + length, labels);
  }
}

/// Returns the number of labels of the first chunk: all of a short passage, and else a random number.
std::int64_t draw_first(std::int64_t labels, std::int64_t length, RandomStream& random) {
  if (labels <= length) return length;
  return 1 + static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(length)));
}

/// The last tokens of a document, of which a cover makes chunks.
class CoverWindow {
 public:
  CoverWindow(const CoverOptions& options, const std::function<void(CoverChunk chunk)>& visit)
      : options_(options), visit_(visit) {}

  void add(std::span<const std::int64_t> tokens) {
    for (const std::int64_t token : tokens) {
      tokens_.push_back(token);
      if (std::ssize(tokens_) <= options_.length) continue;
      visit_({tokens_, first_});
      tokens_.erase(tokens_.begin(), tokens_.begin() + options_.step);
      first_ = options_.length - options_.step;
    }
  }

  void end_document() {
    if (std::ssize(tokens_) - 1 > first_) visit_({tokens_, first_});
    tokens_.clear();
    first_ = 0;
  }

 private:
  const CoverOptions& options_;
  const std::function<void(CoverChunk chunk)>& visit_;
  TokenList tokens_;
  std::int64_t first_ = 0;
};

}  // namespace

EncodedDocuments::EncodedDocuments(std::shared_ptr<const DocumentText> text,
                                   std::shared_ptr<const Vocabulary> vocabulary, std::int64_t length,
                                   const Sampling& sampling)
    : text_(std::move(text)), vocabulary_(std::move(vocabulary)), length_(length), sampling_(sampling) {
  check(length >= 1, "EncodedDocuments: length is {}, needs at least 1", length);
  check(sampling.strength == 0.0 || vocabulary_->piece_model(),
        "EncodedDocuments: vocabulary.output_sampling is {}, but the vocabulary is of {}, needs sentencepiece",
        sampling.strength, enum_name(vocabulary_->kind()));
  const auto chunks = static_cast<double>(read({.block = 0}, 0, 0).size());
  chunks_per_byte_ = std::max(chunks, 1.0) / static_cast<double>(text_->num_bytes(0));
}

std::vector<Visit> EncodedDocuments::visits() const {
  std::vector<Visit> visits;
  for (std::int64_t block = 0; block < text_->num_blocks(); ++block) {
    visits.push_back({.block = block, .pairs = chunks_per_byte_ * static_cast<double>(text_->num_bytes(block))});
  }
  return visits;
}

std::vector<TokenPair> EncodedDocuments::read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const {
  RandomStream random(mix(mix(seed, static_cast<std::uint64_t>(visit.block)), static_cast<std::uint64_t>(epoch)));
  std::vector<TokenPair> chunks;
  std::int64_t number = 0;
  for (const Passage& passage : text_->read(visit.block)) {
    const TokenList tokens =
        frame_passage(passage, vocabulary_->sample(passage.text, sampling_, random.next_u64()), vocabulary_->special());
    const std::int64_t labels = std::ssize(tokens) - 1;
    for_each_chunk(labels, draw_first(labels, length_, random), length_, [&](std::int64_t begin, std::int64_t end) {
      if (visit.has_pair(number++)) chunks.push_back({{}, {tokens.begin() + begin, tokens.begin() + end + 1}});
    });
  }
  return chunks;
}

std::uint64_t EncodedDocuments::fingerprint() const {
  TextHash hash;
  hash.add(vocabulary_->serialize());
  hash.add(vocabulary_->serialize_pieces());
  std::uint64_t fingerprint = mix(hash.value(), text_->fingerprint());
  for (const std::uint64_t value : {static_cast<std::uint64_t>(length_), static_cast<std::uint64_t>(sampling_.best),
                                    std::bit_cast<std::uint64_t>(sampling_.strength)}) {
    fingerprint = mix(fingerprint, value);
  }
  return fingerprint;
}

std::int64_t EncodedDocuments::count_tokens() const {
  std::atomic<std::int64_t> all = 0;
  parallel_for(text_->num_blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      for (const TokenPair& chunk : read({.block = block}, 0, 0)) all += std::ssize(chunk.output) - 1;
    }
  });
  return all;
}

void cover_documents(const DocumentText& text, const Vocabulary& vocabulary, const CoverOptions& options,
                     const std::function<void(CoverChunk chunk)>& visit, const StopRequest* stop) {
  check(options.length >= 1 && options.step >= 1 && options.step <= options.length,
        "cover_documents: length is {} and step is {}, needs at least 1 and a step of at most the length",
        options.length, options.step);
  CoverWindow window(options, visit);
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    for (const Passage& passage : text.read(block)) {
      throw_if_set(stop);
      window.add(frame_passage(passage, vocabulary.encode(passage.text), vocabulary.special()));
      if (passage.ends) window.end_document();
    }
  }
  window.end_document();
}

}  // namespace edgewise
