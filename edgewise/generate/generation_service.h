// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "edgewise/generate/generation_engine.h"

namespace edgewise {

class GenerationCall;

/// Continues the texts of many clients' calls in one batch: a text joins the batch before the next step, and leaves it
/// when its last continuation ends. The next text is that of the client with the fewest texts in the batch. Threads may
/// call all functions at the same time.
class GenerationService {
 public:
  struct Load {
    std::int64_t calls = 0;    // calls with texts that are not complete
    std::int64_t waiting = 0;  // texts that are not in the batch yet
    std::int64_t running = 0;
    std::int64_t tokens = 0;  // tokens of all these texts: their prompts, and the most tokens of their continuations
  };

  /// Starts the thread that computes. `max_tokens` bounds Load::tokens; a call may have more if there is no other.
  /// Throws Error if the system refuses to start the thread.
  GenerationService(std::shared_ptr<GenerationEngine> engine, std::int64_t max_tokens);
  ~GenerationService() { stop(); }

  /// Converts a request as GenerationEngine::begin does, and throws as it does.
  ContinuedText begin(const GenerationRequest& request) const { return engine_->begin(request); }

  Load load() const;

  /// Cancels all calls, refuses new texts, and waits for the end of the thread.
  void stop();

 private:
  friend class GenerationCall;
  class Queue;

  /// The texts of a call.
  struct Call {
    std::string client;
    std::deque<GeneratedPiece> pieces;  // without those that next() has returned
    std::int64_t open = 0;              // continuations without an end
    bool is_cancelled = false;
    std::exception_ptr error = {};
    std::condition_variable has_news = {};

    bool is_ready() const { return !pieces.empty() || open == 0 || is_cancelled || error != nullptr; }
  };
  struct Text {
    std::int64_t id;  // ascends in the order of arrival
    std::shared_ptr<Call> call;
    std::size_t request;
    ContinuedText text;
    std::int64_t open;    // continuations without an end
    std::int64_t tokens;  // as in Load
  };

  template <typename Visit>
  void for_each_text(const Visit& visit) const;
  bool try_put(const std::shared_ptr<Call>& call, std::vector<ContinuedText>& texts);
  void cancel(Call& call);
  void run_worker();
  bool wait_for_text();
  std::optional<GenerationInput> take_text();
  void end_text(std::map<std::int64_t, Text>::iterator text);
  void fail_running(const std::exception_ptr& error);

  std::shared_ptr<GenerationEngine> engine_;
  std::int64_t max_tokens_;
  mutable std::mutex mutex_;  // guards what follows; the thread that computes alone changes `running_` and its texts
  std::condition_variable has_texts_;
  std::map<std::string, std::list<Text>, std::less<>> waiting_;  // by client; no list is empty
  std::map<std::int64_t, Text> running_;                         // by id
  std::int64_t num_tokens_ = 0;
  std::int64_t next_id_ = 0;
  bool is_closed_ = false;
  std::jthread worker_;
};

/// The texts of one call in a service. The service must outlive the call.
class GenerationCall {
 public:
  using Clock = std::chrono::steady_clock;

  GenerationCall(GenerationService& service, std::string client);

  /// Cancels the call.
  ~GenerationCall() { cancel(); }

  /// Puts the texts of GenerationService::begin in together, and returns true; false if they do not fit beside those of
  /// other calls, and if the service takes no more.
  bool try_put(std::vector<ContinuedText> texts) { return service_.try_put(call_, texts); }

  /// Waits until next() need not wait, and returns true; false at the deadline.
  bool wait_until(Clock::time_point deadline);

  /// Waits for a part of a continuation; nullopt after the end of the last one. Throws the error of a computation that
  /// failed, and StopException after cancel().
  std::optional<GeneratedPiece> next();

  /// Ends the call; its texts leave the batch after the next step.
  void cancel() { service_.cancel(*call_); }

 private:
  GenerationService& service_;
  std::shared_ptr<GenerationService::Call> call_;
};

}  // namespace edgewise
