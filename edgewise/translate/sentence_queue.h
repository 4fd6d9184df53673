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

#include "edgewise/translate/sentence_coder.h"
#include "edgewise/search/search.h"

namespace edgewise {

/// Sentences on their way: one thread puts them in, several search their parts, one takes them out again in the order
/// in which they came.
class SentenceQueue {
 public:
  struct Limits {
    std::int64_t sentences;
    std::int64_t tokens;  // one sentence may have more
  };
  struct Translated {
    CodedSentence sentence;
    std::vector<std::vector<Hypothesis>> found;  // of each part
  };

  explicit SentenceQueue(Limits limits) : limits_(limits) {}

  /// Waits while it is full. False when nobody needs more.
  bool put(CodedSentence sentence);

  /// No more sentences will come, because there are none or because of an error, which `take` throws behind the last.
  void close(const std::exception_ptr& error = nullptr);

  /// Ends everything at once; `take` throws the error.
  void abort(const std::exception_ptr& error);

  /// The next part, for a search. Waits for one unless the search `is_busy`; none at the end.
  std::optional<SearchInput> next_part(bool is_busy);
  void found(const SearchInput& part, std::vector<Hypothesis> best);

  /// The next sentence whose parts were all found, waiting for it; none at the end.
  std::optional<Translated> take();

 private:
  struct Entry {
    Translated translated;
    std::size_t missing;  // parts
  };
  bool has_room(const CodedSentence& sentence) const;

  Limits limits_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable parts_came_;
  std::condition_variable front_is_done_;
  std::deque<Entry> entries_;
  std::deque<SearchInput> waiting_;
  std::map<std::int64_t, std::pair<Entry*, std::size_t>> places_;  // of parts that are searched, by id
  std::int64_t num_tokens_ = 0;
  std::int64_t next_id_ = 0;
  bool is_closed_ = false;
  bool is_aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace edgewise
