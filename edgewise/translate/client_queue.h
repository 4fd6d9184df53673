// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

/// Sentences that a client wants to be translated, and the functions that receive the results.
struct ClientJob {
  std::string client;  // jobs of one client share its turns
  std::vector<TokenizedSentence> sentences;
  std::int64_t n_best = 0;  // most hypotheses of a part; 0: as in the search options

  /// Receives the time between put() and the first search of each sentence, or is empty. Must not call the queue.
  std::function<void(double seconds)> begin = {};
  /// Receives the hypotheses of each part of sentences[index]. Sentences are complete in any order, and several threads
  /// may call the function at the same time.
  std::function<void(std::size_t index, const TokenizedSentence& sentence,
                     std::vector<std::vector<Hypothesis>> results)>
      take;
  /// Called once: after the last sentence with a null pointer, or with the error that ended the job. A job that is
  /// cancelled has no such call.
  std::function<void(const std::exception_ptr& error)> end;
};

/// A queue of the sentences of many clients, which several searches empty.
///
/// Clients take turns: in each turn, the part of one sentence of one job goes to a search, and the jobs of a client
/// take turns among themselves. A long text therefore does not hold up a short one. The threads of the searches call
/// the functions of a job, which must be quick; an exception of `take` ends the job, and `end` must not throw. Threads
/// may call all functions at the same time.
class ClientQueue {
 public:
  using JobId = std::int64_t;

  struct Load {
    std::int64_t jobs = 0;
    std::int64_t waiting_jobs = 0;   // jobs of which no search has had a part
    std::int64_t waiting_parts = 0;  // parts of sentences that no search has
    std::int64_t running_parts = 0;
    std::int64_t tokens = 0;  // input tokens of all jobs
  };

  /// `max_tokens` bounds the input tokens of all jobs. A single job may have more if it is alone.
  explicit ClientQueue(std::int64_t max_tokens) : max_tokens_(max_tokens) {}

  /// Adds a job with at least one sentence; nullopt if it does not fit, and after close().
  std::optional<JobId> put(ClientJob job);

  /// Ends a job; its parts in searches end before their next step. A function of the job that runs in another thread
  /// may still be running when this function returns. An id of a job that has ended has no effect.
  void cancel(JobId id);
  void cancel_all();

  /// Refuses new jobs. Searches end after the last one.
  void close();

  /// Waits until the queue has no jobs.
  void wait_until_empty();

  Load load() const;

  /// The queue as one search reads it.
  class Consumer final : public SearchQueue {
   public:
    explicit Consumer(ClientQueue& queue) : queue_(queue) {}

    /// Waits for a part that no search has. Returns false after close(), if there is none.
    bool wait();

    std::optional<SearchInput> next(bool is_busy) override;
    void put_result(SearchInput input, std::vector<Hypothesis> best) override;

    /// Ends the jobs whose parts the failed search had; if it had none, the job whose turn it is.
    void fail(const std::exception_ptr& error);

   private:
    ClientQueue& queue_;
    std::vector<std::int64_t> parts_;  // ids of the parts in this search
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    JobId id = 0;
    ClientJob request;
    Clock::time_point put_time = Clock::now();
    std::vector<std::vector<std::vector<Hypothesis>>> results;  // [sentences][parts]
    std::vector<std::size_t> missing_parts;                     // [sentences]
    std::size_t missing_sentences = 0;
    std::size_t next_sentence = 0;  // the first part that no search has
    std::size_t next_part = 0;
    std::int64_t num_tokens = 0;
    StopRequest stop = false;

    bool waits() const { return next_sentence == 0 && next_part == 0; }
  };
  using SharedJob = std::shared_ptr<Job>;
  struct Client {
    std::string name;
    std::deque<SharedJob> jobs;  // with parts that no search has; the first one has the next turn
  };
  struct RunningPart {
    SharedJob job;
    std::size_t sentence;
    std::size_t part;
  };

  void add_to_client(SharedJob job);
  void remove_from_client(const Job& job);
  bool wait_for_part(std::unique_lock<std::mutex>& lock);
  SearchInput take_next_part();
  std::optional<RunningPart> end_part(std::int64_t id);
  void end_job(Job& job);

  std::int64_t max_tokens_;
  mutable std::mutex mutex_;
  std::condition_variable has_parts_;
  std::condition_variable is_empty_;
  std::list<Client> clients_;  // the first one has the next turn
  std::unordered_map<std::string, std::list<Client>::iterator> clients_by_name_;
  std::unordered_map<JobId, SharedJob> jobs_;
  std::unordered_map<std::int64_t, RunningPart> running_;  // by part id
  std::int64_t num_tokens_ = 0;
  std::int64_t waiting_parts_ = 0;
  JobId next_job_ = 0;
  std::int64_t next_part_ = 0;
  bool is_closed_ = false;
};

}  // namespace edgewise
