// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

/// A queue of sentences in translation: one thread puts sentences in, several threads search their parts, and one
/// thread takes the results in the order of the sentences.
class SentenceQueue final : public SearchQueue {
 public:
  struct Limits {
    std::int64_t sentences;
    std::int64_t tokens;  // a single sentence may have more
  };
  struct Translated {
    TokenizedSentence sentence;
    std::vector<std::vector<Hypothesis>> results;  // for each part its hypotheses, best first
  };

  /// The stop request, if not null, must outlive the queue. Threads that wait do not read it.
  explicit SentenceQueue(Limits limits, const StopRequest* stop = nullptr) : limits_(limits), stop_(stop) {}

  /// Waits while the queue is full. Returns false after `abort` and after a stop request.
  bool put(TokenizedSentence sentence);

  /// Declares that no more sentences will be put. `take` throws `error`, if given, after the last sentence.
  void close(const std::exception_ptr& error = nullptr);

  /// Stops all threads at once; `take` throws the error, if there is one. Only the first call has an effect.
  void abort(const std::exception_ptr& error);

  /// After a stop request, aborts the queue with StopException.
  void abort_if_requested();

  /// Returns true after `abort` and after a stop request.
  bool is_stopped() const override;

  /// Returns the next part to search. Waits for a part unless `is_busy`; nullopt at the end.
  std::optional<SearchInput> next(bool is_busy) override;
  void put_result(SearchInput part, std::vector<Hypothesis> best) override;

  /// Waits until the first sentence in the queue is complete, and removes it; nullopt at the end.
  std::optional<Translated> take();

 private:
  struct Entry {
    Translated translated;
    std::size_t missing_parts;
  };
  bool fits(const TokenizedSentence& sentence) const;
  bool is_stop_requested() const { return stop_ != nullptr && *stop_; }

  Limits limits_;
  const StopRequest* stop_;
  mutable std::mutex mutex_;
  std::condition_variable has_space_;
  std::condition_variable has_parts_;
  std::condition_variable front_is_complete_;
  std::deque<Entry> entries_;
  std::deque<SearchInput> waiting_parts_;
  std::map<std::int64_t, std::pair<Entry*, std::size_t>> part_entries_;  // by part id: its entry and index
  std::int64_t num_tokens_ = 0;
  std::int64_t next_id_ = 0;
  bool is_closed_ = false;
  bool is_aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace edgewise
