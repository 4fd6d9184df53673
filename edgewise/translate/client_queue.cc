// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/client_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

std::optional<ClientQueue::JobId> ClientQueue::put(ClientJob request) {
  check(!request.sentences.empty(), "ClientQueue: a job has no sentence, needs at least one");
  auto job = std::make_shared<Job>();
  std::int64_t parts = 0;
  for (const TokenizedSentence& sentence : request.sentences) {
    job->results.emplace_back(sentence.parts.size());
    job->missing_parts.push_back(sentence.parts.size());
    job->num_tokens += sentence.num_tokens();
    parts += std::ssize(sentence.parts);
  }
  job->missing_sentences = request.sentences.size();
  job->request = std::move(request);

  const std::lock_guard lock(mutex_);
  const bool fits = jobs_.empty() || num_tokens_ + job->num_tokens <= max_tokens_;
  if (is_closed_ || !fits) return std::nullopt;
  job->id = next_job_++;
  num_tokens_ += job->num_tokens;
  waiting_parts_ += parts;
  jobs_[job->id] = job;
  const JobId id = job->id;
  add_to_client(std::move(job));
  has_parts_.notify_all();
  return id;
}

void ClientQueue::add_to_client(SharedJob job) {
  const std::string& name = job->request.client;
  auto found = clients_by_name_.find(name);
  if (found == clients_by_name_.end()) {
    clients_.push_back({name, {}});
    found = clients_by_name_.emplace(name, std::prev(clients_.end())).first;
  }
  found->second->jobs.push_back(std::move(job));
}

/// Removes a job that may have parts that no search has.
void ClientQueue::remove_from_client(const Job& job) {
  const auto found = clients_by_name_.find(job.request.client);
  if (found == clients_by_name_.end()) return;
  std::deque<SharedJob>& jobs = found->second->jobs;
  const auto position = std::ranges::find(jobs, job.id, [](const SharedJob& other) { return other->id; });
  if (position == jobs.end()) return;
  for (std::size_t i = job.next_sentence; i < job.request.sentences.size(); ++i) {
    waiting_parts_ -= std::ssize(job.request.sentences[i].parts);
  }
  waiting_parts_ += static_cast<std::int64_t>(job.next_part);
  jobs.erase(position);
  if (!jobs.empty()) return;
  clients_.erase(found->second);
  clients_by_name_.erase(found);
}

/// Takes the next part of the job whose turn it is, and gives the next turn to the next client.
SearchInput ClientQueue::take_next_part() {
  Client& client = clients_.front();
  SharedJob job = std::move(client.jobs.front());
  client.jobs.pop_front();

  const std::size_t sentence = job->next_sentence;
  const std::size_t part = job->next_part;
  const TokenizedSentence& tokenized = job->request.sentences[sentence];
  SearchInput input = tokenized.input(part);
  input.id = next_part_++;
  input.n_best = job->request.n_best;
  input.stop = &job->stop;
  running_[input.id] = {job, sentence, part};
  if (part == 0 && job->request.begin) {
    job->request.begin(std::chrono::duration<double>(Clock::now() - job->put_time).count());
  }
  --waiting_parts_;
  if (++job->next_part == tokenized.parts.size()) {
    job->next_part = 0;
    ++job->next_sentence;
  }
  if (job->next_sentence < job->request.sentences.size()) client.jobs.push_back(std::move(job));
  if (client.jobs.empty()) {
    clients_by_name_.erase(client.name);
    clients_.pop_front();
  } else {
    clients_.splice(clients_.end(), clients_, clients_.begin());
  }
  return input;
}

/// Waits for a part, or for close(). Returns whether there is a part.
bool ClientQueue::wait_for_part(std::unique_lock<std::mutex>& lock) {
  has_parts_.wait(lock, [&] { return !clients_.empty() || is_closed_; });
  return !clients_.empty();
}

bool ClientQueue::Consumer::wait() {
  std::unique_lock lock(queue_.mutex_);
  return queue_.wait_for_part(lock);
}

std::optional<SearchInput> ClientQueue::Consumer::next(bool is_busy) {
  std::unique_lock lock(queue_.mutex_);
  const bool has_part = is_busy ? !queue_.clients_.empty() : queue_.wait_for_part(lock);
  if (!has_part) return std::nullopt;
  SearchInput input = queue_.take_next_part();
  parts_.push_back(input.id);
  return input;
}

/// Removes a part from those in searches. Returns nullopt if its job has ended.
std::optional<ClientQueue::RunningPart> ClientQueue::end_part(std::int64_t id) {
  const auto found = running_.find(id);
  RunningPart part = std::move(found->second);
  running_.erase(found);
  if (part.job->stop) return std::nullopt;
  return part;
}

/// Ends a job, and the searches of its parts if it has any.
void ClientQueue::end_job(Job& job) {
  job.stop = true;
  remove_from_client(job);
  num_tokens_ -= job.num_tokens;
  jobs_.erase(job.id);
  if (jobs_.empty()) is_empty_.notify_all();
}

void ClientQueue::Consumer::put_result(SearchInput input, std::vector<Hypothesis> best) {
  std::erase(parts_, input.id);
  std::unique_lock lock(queue_.mutex_);
  const std::optional<RunningPart> running = queue_.end_part(input.id);
  if (!running) return;
  const auto& [job, sentence, part] = *running;
  job->results[sentence][part] = std::move(best);
  if (--job->missing_parts[sentence] > 0) return;
  auto results = std::move(job->results[sentence]);
  // The functions run without the lock, because they may call put() or cancel().
  lock.unlock();
  std::exception_ptr error;
  try {
    job->request.take(sentence, job->request.sentences[sentence], std::move(results));
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (job->stop || (--job->missing_sentences > 0 && !error)) return;
  queue_.end_job(*job);
  lock.unlock();
  job->request.end(error);
}

void ClientQueue::Consumer::fail(const std::exception_ptr& error) {
  if (parts_.empty()) next(/*is_busy=*/true);
  std::vector<SharedJob> failed;
  {
    const std::lock_guard lock(queue_.mutex_);
    for (const std::int64_t id : std::exchange(parts_, {})) {
      const std::optional<RunningPart> running = queue_.end_part(id);
      if (!running) continue;
      queue_.end_job(*running->job);
      failed.push_back(running->job);
    }
  }
  for (const SharedJob& job : failed) job->request.end(error);
}

void ClientQueue::cancel(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const SharedJob job = found->second;
  end_job(*job);
}

void ClientQueue::cancel_all() {
  const std::lock_guard lock(mutex_);
  while (!jobs_.empty()) {
    const SharedJob job = jobs_.begin()->second;
    end_job(*job);
  }
}

void ClientQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  has_parts_.notify_all();
}

void ClientQueue::wait_until_empty() {
  std::unique_lock lock(mutex_);
  is_empty_.wait(lock, [&] { return jobs_.empty(); });
}

ClientQueue::Load ClientQueue::load() const {
  const std::lock_guard lock(mutex_);
  return {.jobs = std::ssize(jobs_),
          .waiting_jobs = std::ranges::count_if(jobs_, [](const auto& job) { return job.second->waits(); }),
          .waiting_parts = waiting_parts_,
          .running_parts = std::ssize(running_),
          .tokens = num_tokens_};
}

}  // namespace edgewise
