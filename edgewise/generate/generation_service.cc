// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/generation_service.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/stop_request.h"

namespace edgewise {

/// The texts as the thread that computes sees them.
class GenerationService::Queue : public GenerationQueue {
 public:
  explicit Queue(GenerationService& service) : service_(service) {}

  std::optional<GenerationInput> next(bool /*is_busy*/) override { return service_.take_text(); }

  bool put_token(std::int64_t id, std::int64_t sample, std::int64_t token) override {
    Text& text = service_.running_.at(id);
    GeneratedPiece piece = text.text.put_token(sample, token);
    const bool is_stopped = text.text.is_stopped(sample);
    const std::lock_guard lock(service_.mutex_);
    if (text.call->is_cancelled) return false;
    if (!piece.text.empty()) put(text, std::move(piece));
    return !is_stopped;
  }

  void put_end(std::int64_t id, std::int64_t sample, FinishReason reason) override {
    const auto text = service_.running_.find(id);
    GeneratedPiece piece = text->second.text.put_end(sample, reason);
    const std::lock_guard lock(service_.mutex_);
    --text->second.call->open;
    put(text->second, std::move(piece));
    if (--text->second.open == 0) service_.end_text(text);
  }

  bool is_stopped() const override {
    const std::lock_guard lock(service_.mutex_);
    return service_.is_closed_;
  }

 private:
  static void put(Text& text, GeneratedPiece piece) {
    piece.request = text.request;
    text.call->pieces.push_back(std::move(piece));
    text.call->has_news.notify_all();
  }

  GenerationService& service_;
};

GenerationService::GenerationService(std::shared_ptr<GenerationEngine> engine, std::int64_t max_tokens)
    : engine_(std::move(engine)), max_tokens_(max_tokens) {
  auto thread = try_start_thread([this] { run_worker(); });
  check(thread.has_value(), "GenerationService: the system refuses to start a thread, needs one; {}",
        kRaiseProcessLimit);
  worker_ = std::move(*thread);
}

/// Calls `visit` with each text that waits or runs.
template <typename Visit>
void GenerationService::for_each_text(const Visit& visit) const {
  for (const auto& [client, texts] : waiting_) std::ranges::for_each(texts, visit);
  for (const auto& [id, text] : running_) visit(text);
}

void GenerationService::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for_each_text([](const Text& text) { text.call->is_cancelled = true; });
    for_each_text([](const Text& text) { text.call->has_news.notify_all(); });
    has_texts_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

GenerationService::Load GenerationService::load() const {
  const std::lock_guard lock(mutex_);
  std::set<const Call*> calls;
  std::int64_t texts = 0;
  for_each_text([&](const Text& text) {
    calls.insert(text.call.get());
    ++texts;
  });
  const std::int64_t running = std::ssize(running_);
  return {.calls = std::ssize(calls), .waiting = texts - running, .running = running, .tokens = num_tokens_};
}

bool GenerationService::try_put(const std::shared_ptr<Call>& call, std::vector<ContinuedText>& texts) {
  std::list<Text> put;
  std::int64_t tokens = 0;
  for (ContinuedText& text : texts) {
    const std::int64_t samples = text.input().samples;
    const std::int64_t own = std::ssize(text.input().prompt) + samples * text.input().max_tokens;
    tokens += own;
    put.push_back({0, call, put.size(), std::move(text), samples, own});
  }
  const std::lock_guard lock(mutex_);
  if (is_closed_ || (num_tokens_ > 0 && num_tokens_ + tokens > max_tokens_)) return false;
  if (put.empty()) return true;
  std::list<Text>& waiting = waiting_[call->client];
  num_tokens_ += tokens;
  for (Text& text : put) {
    text.id = next_id_++;
    call->open += text.open;
  }
  waiting.splice(waiting.end(), put);
  has_texts_.notify_one();
  return true;
}

void GenerationService::cancel(Call& call) {
  const std::lock_guard lock(mutex_);
  call.is_cancelled = true;
  call.has_news.notify_all();
  const auto waiting = waiting_.find(call.client);
  if (waiting == waiting_.end()) return;
  std::erase_if(waiting->second, [&](const Text& text) {
    if (text.call.get() != &call) return false;
    num_tokens_ -= text.tokens;
    return true;
  });
  if (waiting->second.empty()) waiting_.erase(waiting);
}

bool GenerationService::wait_for_text() {
  std::unique_lock lock(mutex_);
  has_texts_.wait(lock, [&] { return is_closed_ || !waiting_.empty(); });
  return !is_closed_;
}

std::optional<GenerationInput> GenerationService::take_text() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  std::map<std::string_view, std::int64_t> counts;
  for (const auto& [id, text] : running_) ++counts[text.call->client];
  const auto next = std::ranges::min_element(waiting_, {}, [&](const auto& waiting) {
    const auto count = counts.find(waiting.first);
    return std::pair(count == counts.end() ? 0 : count->second, waiting.second.front().id);
  });
  std::list<Text>& texts = next->second;
  const std::int64_t id = texts.front().id;
  const auto text = running_.emplace(id, std::move(texts.front())).first;
  texts.pop_front();
  if (texts.empty()) waiting_.erase(next);
  GenerationInput& input = text->second.text.input();
  input.id = id;
  return std::move(input);
}

void GenerationService::end_text(std::map<std::int64_t, Text>::iterator text) {
  num_tokens_ -= text->second.tokens;
  running_.erase(text);
}

/// Ends the calls of the batch with an error; if the batch is empty, that of the next text.
void GenerationService::fail_running(const std::exception_ptr& error) {
  if (running_.empty()) take_text();
  const std::lock_guard lock(mutex_);
  while (!running_.empty()) {
    Call& call = *running_.begin()->second.call;
    call.error = error;
    call.has_news.notify_all();
    end_text(running_.begin());
  }
}

/// Computes until the service is closed. A computation that failed ends the calls of its batch, and no others.
void GenerationService::run_worker() {
  Queue queue(*this);
  while (wait_for_text()) {
    try {
      engine_->run(queue);
    } catch (...) {
      fail_running(std::current_exception());
    }
  }
}

GenerationCall::GenerationCall(GenerationService& service, std::string client)
    : service_(service), call_(std::make_shared<GenerationService::Call>()) {
  call_->client = std::move(client);
}

bool GenerationCall::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(service_.mutex_);
  return call_->has_news.wait_until(lock, deadline, [&] { return call_->is_ready(); });
}

std::optional<GeneratedPiece> GenerationCall::next() {
  std::unique_lock lock(service_.mutex_);
  call_->has_news.wait(lock, [&] { return call_->is_ready(); });
  if (call_->is_cancelled) throw StopException();
  if (!call_->pieces.empty()) {
    GeneratedPiece piece = std::move(call_->pieces.front());
    call_->pieces.pop_front();
    return piece;
  }
  if (call_->error) std::rethrow_exception(call_->error);
  return std::nullopt;
}

}  // namespace edgewise
