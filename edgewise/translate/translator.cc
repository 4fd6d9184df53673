// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translator.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/translate/sentence_queue.h"

namespace edgewise {
namespace {

/// What a search sees of the queue.
class PartsOf : public SearchQueue {
 public:
  explicit PartsOf(SentenceQueue& queue) : queue_(queue) {}

  std::optional<SearchInput> next(bool is_busy) override { return queue_.next_part(is_busy); }
  void found(SearchInput input, std::vector<Hypothesis> best) override { queue_.found(input, std::move(best)); }

 private:
  SentenceQueue& queue_;
};

/// Threads that are waited for at the end of a scope.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }

  template <typename Action>
  void start(Action action) {
    threads_.emplace_back(std::move(action));
  }

 private:
  std::vector<std::thread> threads_;
};

/// Sets the threads of kernels for a scope.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(num_threads()) { set_num_threads(count); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;
  ~ThreadCount() { set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace

Translator::Translator(Coding coding, MakeScorer make_scorer, TranslatorOptions options)
    : coding_(std::move(coding)), make_scorer_(std::move(make_scorer)), options_(std::move(options)) {
  check(options_.workers >= 1, "Translator: workers is {}, at least 1 is needed", options_.workers);
  check(options_.threads >= 0, "Translator: threads is {}, at least 0 is needed", options_.threads);
  check(options_.sentences_ahead >= 1, "Translator: sentences_ahead is {}, at least 1 is needed",
        options_.sentences_ahead);
  check(options_.tokens_ahead >= 1, "Translator: tokens_ahead is {}, at least 1 is needed", options_.tokens_ahead);
  check(coding_.max_input >= 0, "Translator: max_input is {}, at least 0 is needed", coding_.max_input);
  SearchOptions& search = options_.search;
  search.begin_token = kBeginToken;
  search.end_token = kEndToken;
  search.never.insert(search.never.end(), {kPaddingToken, kBeginToken});
  if (!options_.allow_unknown) search.never.push_back(kUnknownToken);
  search.attention = options_.alignment;
  // Part of an output cannot be scored by part of its input.
  if (search.kind == SearchKind::kScoring) coding_.max_input = 0;
  check_options(search, coding_.vocabularies.output->size());
  if (options_.threads == 0) options_.threads = std::max(num_threads() / options_.workers, 1);
}

std::unique_ptr<Scorer> Translator::borrow_scorer() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_scorers_.empty()) {
      std::unique_ptr<Scorer> scorer = std::move(idle_scorers_.back());
      idle_scorers_.pop_back();
      return scorer;
    }
  }
  std::unique_ptr<Scorer> scorer = make_scorer_();
  check(scorer->vocabulary_size() == coding_.vocabularies.output->size(),
        "Translator: the model has {} output tokens, but the vocabulary has {}; they must be equal",
        scorer->vocabulary_size(), coding_.vocabularies.output->size());
  return scorer;
}

void Translator::give_back(std::unique_ptr<Scorer> scorer) {
  const std::lock_guard lock(mutex_);
  idle_scorers_.push_back(std::move(scorer));
}

/// One worker's life.
void Translator::work(SentenceQueue& queue) {
  try {
    const ThreadCount threads(options_.threads);
    std::unique_ptr<Scorer> scorer = borrow_scorer();
    PartsOf parts(queue);
    search(*scorer, parts, options_.search, options_.capacity);
    give_back(std::move(scorer));
  } catch (...) {
    queue.abort(std::current_exception());
  }
}

void Translator::put_all(const NextSentence& next, SentenceQueue& queue) const {
  try {
    while (const auto request = next()) {
      if (!queue.put(encode(*request, coding_))) return;
    }
    queue.close();
  } catch (...) {
    queue.close(std::current_exception());
  }
}

void Translator::take_all(SentenceQueue& queue, const TakeTranslation& take) const {
  while (const auto translated = queue.take()) take(decode(translated->sentence, translated->found, coding_));
}

/// The thread that calls works, the others wait or have little to do: OpenMP's threads are those of the caller, who has
/// used them to load a model, and a second set of them would outnumber the cores, upon which none spins for work.
void Translator::translate(const NextSentence& next, const TakeTranslation& take) {
  SentenceQueue queue({options_.sentences_ahead, options_.tokens_ahead});
  std::exception_ptr error;
  {
    Threads others;
    others.start([&] { put_all(next, queue); });
    others.start([&] {
      try {
        take_all(queue, take);
      } catch (...) {
        error = std::current_exception();
        queue.abort(nullptr);
      }
    });
    for (int i = 1; i < options_.workers; ++i) others.start([&] { work(queue); });
    work(queue);
  }
  if (error) std::rethrow_exception(error);
}

std::vector<Translation> Translator::translate(std::span<const TranslationRequest> sentences) {
  constexpr auto kAnyNumber = std::numeric_limits<std::int64_t>::max();
  SentenceQueue queue({kAnyNumber, kAnyNumber});
  std::size_t next = 0;
  put_all(
      [&]() -> std::optional<TranslationRequest> {
        if (next == sentences.size()) return std::nullopt;
        return sentences[next++];
      },
      queue);
  {
    Threads others;
    for (int i = 1; i < options_.workers; ++i) others.start([&] { work(queue); });
    work(queue);
  }
  std::vector<Translation> translations;
  take_all(queue, [&](const Translation& translation) { translations.push_back(translation); });
  return translations;
}

Translation Translator::translate(std::string_view sentence) {
  const TranslationRequest request{std::string(sentence)};
  return std::move(translate(std::span(&request, 1)).front());
}

}  // namespace edgewise
