// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/sentence_coder.h"
#include "edgewise/translate/translation.h"
#include "edgewise/search/search.h"

namespace edgewise {

struct TranslatorOptions {
  SearchOptions search = {};  // which tokens are special is the vocabulary's to say
  SearchCapacity capacity = {};
  int workers = 1;                                    // searches that run side by side, each with a scorer of its own
  int threads = 0;                                    // of each worker; 0: their share of those that the caller may use
  bool alignment = false;                             // whether to say where each token of an output looked
  bool allow_unknown = false;                         // whether `<unknown>` may appear in an output
  std::int64_t sentences_ahead = 4096;                // of a stream: read, and not yet taken
  std::int64_t tokens_ahead = std::int64_t{1} << 20;  // those in these sentences
};

class SentenceQueue;

/// Sentences in, sentences out, by anything that scores tokens.
///
///     Translator translator(coding_of(files), [&] { return std::make_unique<TransformerScorer>(model); });
///     std::string french = translator.translate("Hello !").outputs.front().text;
class Translator {
 public:
  using MakeScorer = std::function<std::unique_ptr<Scorer>()>;
  /// The next sentence, none at the end.
  using NextSentence = std::function<std::optional<TranslationRequest>()>;
  using TakeTranslation = std::function<void(const Translation&)>;

  /// Scorers are made when they are first needed, at most one a worker, and kept. Throws Error for options that do not
  /// fit, each other or the vocabulary.
  Translator(Coding coding, MakeScorer make_scorer, TranslatorOptions options = {});

  /// A sentence is UTF-8, and one sentence, whatever line ends are in it.
  Translation translate(std::string_view sentence);
  std::vector<Translation> translate(std::span<const TranslationRequest> sentences);

  /// Translates as long as `next` gives sentences, and calls `take` with each translation in their order, as soon as it
  /// is there. Each of the two is called by a thread of its own: `next` may wait without holding anything up. An Error
  /// of `next` comes out when all before it were taken; other errors, those of `take` among them, as soon as `next`
  /// returns.
  void translate(const NextSentence& next, const TakeTranslation& take);

 private:
  void put_all(const NextSentence& next, SentenceQueue& queue) const;
  void take_all(SentenceQueue& queue, const TakeTranslation& take) const;
  void work(SentenceQueue& queue);
  std::unique_ptr<Scorer> borrow_scorer();
  void give_back(std::unique_ptr<Scorer> scorer);

  Coding coding_;
  MakeScorer make_scorer_;
  TranslatorOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scorer>> idle_scorers_;
};

}  // namespace edgewise
