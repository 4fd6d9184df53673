// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/updater.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <string>

#include "edgewise/base/profile.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/gradients_in_place.h"
#include "edgewise/ops/optimiser.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kRankSeeds = 0x72616e6b73;  // separates the seeds of virtual ranks from those of batches

/// Returns the first error of a process; "" if there is none.
std::string find_error(const std::vector<ProcessReport>& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].error.empty()) continue;
    return reports.size() == 1 ? reports[rank].error : fmt::format("{} (rank {})", reports[rank].error, rank);
  }
  return {};
}

/// The parameters, from the last one on, whose gradients are complete in a backward pass.
class CompleteGradients {
 public:
  explicit CompleteGradients(const FlatParameters& parameters)
      : parameters_(parameters.parameters()), is_complete_(parameters_.size()), first_(parameters_.size()) {}

  /// Adds a parameter whose gradient is complete. Returns whether begin() changed.
  bool add(std::size_t parameter) {
    is_complete_[parameter] = true;
    const std::size_t before = first_;
    while (first_ > 0 && is_complete_[first_ - 1]) --first_;
    return first_ != before;
  }

  /// Returns the element of the flat array from which on all gradients are complete; at least one parameter is.
  std::int64_t begin() const { return parameters_[first_].range.begin; }

 private:
  const std::vector<FlatParameter>& parameters_;
  std::vector<bool> is_complete_;
  std::size_t first_;
};

BatchProgress progress_at_begin(ProcessGroup& processes, std::list<BatchPrefetcher>& batches) {
  ProcessReport report;
  for (const BatchPrefetcher& stream : batches) {
    report.ranks.push_back(
        {.sums = {}, .position = stream.position(), .batches_per_epoch = stream.batches_per_epoch()});
  }
  return progress_of(exchange_reports(processes, report));
}

/// Adds the time until the end of its scope to a sum.
class SecondsInScope {
 public:
  explicit SecondsInScope(double& sum) : sum_(sum), begin_(Clock::now()) {}
  SecondsInScope(const SecondsInScope&) = delete;
  SecondsInScope& operator=(const SecondsInScope&) = delete;
  ~SecondsInScope() { sum_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  double& sum_;
  Clock::time_point begin_;
};

}  // namespace

VirtualRanks virtual_ranks_of(const TrainOptions& options, const ProcessGroup& processes) {
  const std::int64_t ranks = options.virtual_ranks;
  const std::int64_t size = processes.size();
  const auto is_power_of_two = [](std::int64_t number) {
    return number >= 1 && std::has_single_bit(static_cast<std::uint64_t>(number));
  };
  check(is_power_of_two(ranks), "train: virtual_ranks is {}, needs a power of two", ranks);
  check(is_power_of_two(size), "train: {} processes train together, needs a power of two", size);
  check(size <= ranks,
        "train: virtual_ranks is {} for {} processes, needs at least one each; set train.virtual_ranks={}", ranks, size,
        size);
  return {.total = ranks, .first = processes.rank() * (ranks / size), .count = ranks / size};
}

/// Calls a function that exchanges tensors, and adds its time to `seconds`. A process alone exchanges nothing.
auto Updater::run_exchange(double& seconds, auto function) const {
  if (processes_.size() == 1) return function();
  const ScopedTimer timer("exchange");
  const SecondsInScope in_scope(seconds);
  return function();
}

Updater::Updater(const TrainOptions& options, TrainingTask& task, BatchShares& batches, ProcessGroup& processes,
                 at::Device device)
    : options_(options),
      task_(task),
      processes_(processes),
      ranks_(virtual_ranks_of(options, processes)),
      parameters_(task.parameters(), ranks_.total, device),
      pieces_(parameters_, processes),
      gradient_sum_(parameters_, pieces_, options.exchange),
      schedule_(options, task.size()),
      adam_(parameters_, pieces_, {options.beta1, options.beta2, options.epsilon, options.weight_decay}) {
  check(options.accumulate >= 1, "Updater: accumulate is {}, needs at least 1 batch", options.accumulate);
  check(batches.ranks() == ranks_, "Updater: batches are those of virtual ranks {} to {}, needs {} to {}",
        batches.ranks().first, batches.ranks().first + batches.ranks().count - 1, ranks_.first,
        ranks_.first + ranks_.count - 1);
  processes_.broadcast(parameters_.values(), 0);  // process 0 may have read them from a file
  for (BatchStream& stream : batches.streams()) batches_.emplace_back(stream);
  progress_ = progress_at_begin(processes_, batches_);
}

void Updater::seek(const std::vector<BatchPosition>& positions) {
  check(std::ssize(positions) == ranks_.total,
        "Updater::seek: positions are those of {} virtual ranks, needs {}; set train.virtual_ranks={}",
        positions.size(), ranks_.total, positions.size());
  std::size_t rank = static_cast<std::size_t>(ranks_.first);
  for (BatchPrefetcher& stream : batches_) stream.seek(positions[rank++]);
  progress_ = progress_at_begin(processes_, batches_);
}

Update Updater::operator()(std::int64_t step) {
  RunRequests none;
  return (*this)(step, none);
}

Update Updater::operator()(std::int64_t step, RunRequests& requests) {
  const SerialOpenMpScope serial;  // the kernels of this project use parallel_for
  gradient_sum_.clear();
  try {
    LocalStep local = run_batches(step, requests);
    if (processes_.size() > 1) local.read_losses();  // the reports to the other processes have them
    double exchange_seconds = 0.0;
    const std::vector<ProcessReport> reports =
        run_exchange(exchange_seconds, [&] { return exchange_reports(processes_, local.report); });
    const std::string error = find_error(reports);
    if (!error.empty()) throw BatchError(error);
    if (std::ranges::any_of(reports, &ProcessReport::is_stopped)) throw StopException();
    Update update{.sums = sums_of(reports),
                  .gradient_norm = 0.0,
                  .is_save_requested = std::ranges::any_of(reports, &ProcessReport::is_save_requested),
                  .imbalance = imbalance_of(reports),
                  .exchange_seconds = exchange_seconds};
    backward_and_exchange(local.last_loss);
    local.last_loss = {};
    run_exchange(update.exchange_seconds, [&] { gradient_sum_.finish(); });
    update_parameters(step, local.unread, update);
    progress_ = progress_of(reports);
    return update;
  } catch (...) {
    gradient_sum_.clear();
    throw;
  }
}

/// Runs the batches of all virtual ranks, but not the last backward pass. An error and a request to stop end the
/// batches early, and are in the report.
Updater::LocalStep Updater::run_batches(std::int64_t step, RunRequests& requests) {
  LocalStep local;
  local.report.ranks.resize(batches_.size());
  try {
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      if (i > 0) {
        backward(local.last_loss);
        task_.clear_constant_gradients();
        gradient_sum_.end_virtual_rank();
      }
      run_virtual_rank(i, step, requests.stop, local);
    }
    local.report.is_save_requested = processes_.size() > 1 && requests.save.exchange(false);
  } catch (const StopException&) {
    local.report.is_stopped = true;
  } catch (const BatchError& error) {
    local.report.error = error.what();
  }
  return local;
}

/// Runs the batches of the virtual rank number `index` of this process.
void Updater::run_virtual_rank(std::size_t index, std::int64_t step, const StopRequest& stop, LocalStep& local) {
  BatchPrefetcher& batches = *std::next(batches_.begin(), static_cast<std::ptrdiff_t>(index));
  const auto rank = static_cast<std::uint64_t>(ranks_.first) + index;
  const std::uint64_t step_seed = mix(options_.seed, static_cast<std::uint64_t>(step));
  const std::uint64_t seed = rank == 0 ? step_seed : mix(mix(step_seed, kRankSeeds), rank);
  LossSums sums;
  at::Tensor unread;
  std::int64_t num_batches = 0;
  do {
    if (num_batches > 0) backward(local.last_loss);
    const Batch batch = next_batch(batches, stop);
    Pass pass = Pass::training(mix(seed, static_cast<std::uint64_t>(num_batches)), options_.precision);
    local.last_loss = forward(batch, pass);
    sums += local.last_loss.counts;
    const at::Tensor& more = local.last_loss.loss_and_correct;
    if (more.defined()) unread = unread.defined() ? unread + more : more;
  } while (++num_batches < options_.accumulate && batches.position().index != 0);
  local.report.ranks[index] = {
      .sums = sums, .position = batches.position(), .batches_per_epoch = batches.batches_per_epoch()};
  if (unread.defined()) local.unread.push_back(unread);
}

void Updater::LocalStep::read_losses() {
  if (unread.empty()) return;
  const std::vector<double> numbers = read_numbers(at::cat(unread));
  for (std::size_t i = 0; i < unread.size(); ++i) {
    report.ranks[i].sums.loss += numbers[2 * i];
    report.ranks[i].sums.correct += static_cast<std::int64_t>(numbers[2 * i + 1]);
  }
  unread.clear();
}

Batch Updater::next_batch(BatchPrefetcher& batches, const StopRequest& stop) {
  const ScopedTimer timer("waiting for a batch");
  throw_if_set(&stop);
  try {
    Batch batch = batches.next();
    throw_if_set(&stop);
    return batch;
  } catch (const Error& error) {
    throw BatchError(error.what());
  }
}

BatchLoss Updater::forward(const Batch& batch, Pass& pass) {
  const ScopedTimer timer("forward");
  return task_.loss(batch, pass);
}

void Updater::backward(const BatchLoss& loss) {
  const ScopedTimer timer("backward");
  const GradientsInPlaceGuard in_place;
  loss.objective.backward();
}

/// Runs the last backward pass of the process, during which the gradients that are complete are exchanged.
void Updater::backward_and_exchange(const BatchLoss& loss) {
  if (processes_.size() > 1) {
    CompleteGradients complete(parameters_);
    const GradientHooks hooks(parameters_.named(), [&](std::size_t parameter) {
      if (!complete.add(parameter)) return;
      task_.clear_constant_gradients();
      gradient_sum_.exchange_from(complete.begin());
    });
    backward(loss);
    hooks.rethrow();
  } else {
    backward(loss);
  }
  task_.clear_constant_gradients();
}

/// Updates the parameters, and completes `update` with the numbers that only their device knows: the norm of the
/// gradient, and the losses in `unread`. Waits for the device once, at the end.
void Updater::update_parameters(std::int64_t step, std::vector<at::Tensor> unread, Update& update) {
  const ScopedTimer timer("optimiser");
  const at::NoGradGuard no_gradients;
  const auto tokens = static_cast<double>(update.sums.tokens);
  const auto [norm, divisor] = divide_by_norm(gradient_sum_.sum_of_squares(), tokens, options_.clip_norm);
  unread.push_back(norm.view({1}));
  const at::Tensor results = at::cat(unread);
  const bool is_known_loss_finite = std::isfinite(update.sums.loss);
  const at::Tensor is_skipped =
      is_known_loss_finite ? results.isfinite().all().bitwise_not() : at::ones({}, results.options().dtype(at::kBool));
  adam_.step(schedule_(step), divisor, is_skipped);
  run_exchange(update.exchange_seconds, [&] { pieces_.share(parameters_.values()); });

  const std::vector<double> numbers = read_numbers(results);
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    update.sums.loss += numbers[i];
    update.sums.correct += static_cast<std::int64_t>(numbers[i + 1]);
  }
  update.gradient_norm = std::isfinite(update.sums.loss) ? numbers.back() : std::numeric_limits<double>::quiet_NaN();
  if (!update.is_applied()) adam_.undo_skipped_step();
}

void Updater::gather_gradients() {
  if (processes_.size() > 1) pieces_.share(parameters_.gradients());
}

}  // namespace edgewise
