// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

/// No limit of CallOptions or ClientQueue.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct CallOptions {
  std::string client = {};   // calls of one client share its turns
  std::int64_t n_best = 1;   // most outputs of a sentence; at most search.n_best
  bool keeps_order = false;  // whether sentences are handed out in their order, or each as soon as it is translated
  // The most sentences that were put in with put() and not handed out, and their input tokens. A single sentence may
  // have more.
  std::int64_t max_sentences = kUnlimited;
  std::int64_t max_tokens = kUnlimited;
  /// Receives the time between put() and the first search of each sentence, or is empty. Must not call the queue.
  std::function<void(double seconds)> begin = {};
};

/// A queue of the sentences of many clients' calls, which several searches empty.
///
/// Clients take turns: in each turn, the part of one sentence of one call goes to a search, and the calls of a client
/// take turns among themselves. A long text therefore does not hold up a short one. The parts of a call go to searches
/// in their order. Threads may call all functions at the same time.
class ClientQueue {
 public:
  using Clock = std::chrono::steady_clock;
  struct Call;  // the sentences of a call
  using SharedCall = std::shared_ptr<Call>;

  struct Load {
    std::int64_t calls = 0;          // calls with sentences that are not translated
    std::int64_t waiting_calls = 0;  // calls without a part that a search has had
    std::int64_t waiting_parts = 0;  // parts of sentences that no search has
    std::int64_t running_parts = 0;
    std::int64_t tokens = 0;  // input tokens of all sentences that are not translated
  };

  /// `max_tokens` bounds Load::tokens; a call may have more if the queue has nothing else. The stop request, which may
  /// be null, ends all searches before their next step. Threads that wait do not read it.
  explicit ClientQueue(std::int64_t max_tokens = kUnlimited, const StopRequest* stop = nullptr)
      : max_tokens_(max_tokens), stop_(stop) {}

  static SharedCall make_call(CallOptions options);

  /// Puts sentences in together, and returns true; false, and leaves `sentences` as they are, if they do not fit beside
  /// the others, and after close(). Throws as take() does if the call has ended.
  bool try_put(const SharedCall& call, std::vector<TokenizedSentence>& sentences);

  /// Waits until a sentence is within the limits of its call, and puts it in, also beyond the limit of the queue.
  /// Throws as take() does if the call has ended.
  void put(const SharedCall& call, TokenizedSentence sentence);

  /// Declares that the call has all of its sentences. take() throws `error`, if given, after the last one.
  void complete(const SharedCall& call, const std::exception_ptr& error = nullptr);

  /// Waits until take() need not wait, and returns true; false at the deadline.
  bool wait_until(const SharedCall& call, Clock::time_point deadline);

  /// Waits for a translated sentence, hands it out and returns its number in the call; nullopt after the last one of a
  /// complete call. Throws the error of a search that failed, which ends its calls, and StopException after cancel().
  std::optional<std::pair<std::size_t, TokenizedSentence>> take(const SharedCall& call);

  /// Ends a call; its parts in searches end before their next step.
  void cancel(const SharedCall& call);
  void cancel_all();

  /// Refuses new sentences. Searches end after the last one.
  void close();

  /// Waits until all sentences are translated.
  void wait_until_empty();

  Load load() const;

  /// The queue as one search reads it.
  class Consumer final : public SearchQueue {
   public:
    explicit Consumer(ClientQueue& queue) : queue_(queue) {}

    /// Waits for a part that no search has. Returns false after close(), if there is none, and after a stop request,
    /// which cancels all calls.
    bool wait();

    std::optional<SearchInput> next(bool is_busy) override;
    void put_result(SearchInput input, std::vector<Hypothesis> best) override;
    bool is_stopped() const override { return queue_.is_stop_requested(); }

    /// Ends the calls whose parts the failed search had; if it had none, the call whose turn it is.
    void fail(const std::exception_ptr& error);

   private:
    ClientQueue& queue_;
    std::set<std::int64_t> parts_;  // ids of the parts in this search
  };

 private:
  struct Client {
    std::string name;
    std::deque<SharedCall> calls;  // with parts that no search has; the first one has the next turn
  };
  struct RunningPart {
    SharedCall call;
    std::size_t sentence;
    std::size_t part;
  };

  bool is_stop_requested() const { return stop_ != nullptr && *stop_; }
  void add(const SharedCall& call, TokenizedSentence sentence);
  void add_to_client(const SharedCall& call);
  void remove_from_client(const Call& call);
  bool wait_for_part(std::unique_lock<std::mutex>& lock);
  SearchInput take_next_part();
  std::optional<RunningPart> end_part(std::int64_t id);
  void end_sentence(const SharedCall& call, std::size_t number);
  void end_call(const SharedCall& call, const std::exception_ptr& error);
  void cancel_call(const SharedCall& call);
  void cancel_all_calls();

  std::int64_t max_tokens_;
  const StopRequest* stop_;
  mutable std::mutex mutex_;  // guards all calls, too
  std::condition_variable has_parts_;
  std::condition_variable is_empty_;
  std::list<Client> clients_;  // the first one has the next turn
  std::unordered_map<std::string, std::list<Client>::iterator> clients_by_name_;
  std::set<SharedCall> calls_;                             // with sentences that are not translated
  std::unordered_map<std::int64_t, RunningPart> running_;  // by part id
  std::int64_t num_tokens_ = 0;
  std::int64_t waiting_parts_ = 0;
  std::int64_t next_part_ = 0;  // id
  bool is_closed_ = false;
};

/// The mutex of the queue guards all members.
struct ClientQueue::Call {
  CallOptions options;
  std::map<std::size_t, TokenizedSentence> sentences = {};  // by number, without those that are handed out
  std::set<std::size_t> translated = {};                    // numbers of those sentences that are translated
  std::deque<Clock::time_point> put_times = {};             // times of sentences; no search has had a part of them
  std::size_t num_sentences = 0;                            // all that were put in
  std::size_t next_sentence = 0;                            // the first part that no search has had
  std::size_t next_part = 0;
  std::int64_t num_tokens = 0;           // input tokens of `sentences`
  std::int64_t untranslated_tokens = 0;  // input tokens of the sentences that are not translated
  bool is_complete = false;              // whether no more sentences will be put in
  std::exception_ptr error = {};         // to throw after the last sentence that can be handed out
  StopRequest stop = false;              // whether the call was cancelled or a search has failed
  std::condition_variable has_space = {};
  std::condition_variable has_news = {};  // is_ready() may have become true

  bool has_waiting_parts() const { return next_sentence < num_sentences; }
  bool has_begun() const { return next_sentence > 0 || next_part > 0; }
  /// Returns whether take() can hand out a sentence.
  bool can_hand_out() const;
  /// Returns whether take() need not wait.
  bool is_ready() const { return stop || can_hand_out() || (is_complete && sentences.empty()); }
  /// Returns whether a sentence of so many tokens is within the limits of the call.
  bool has_space_for(std::int64_t tokens) const;
};

}  // namespace edgewise
