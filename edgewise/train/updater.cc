// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/updater.h"

#include <iterator>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/ops/gradients_in_place.h"

namespace edgewise {

Updater::Updater(const TrainOptions& options, TrainingTask& task, BatchStream& batches)
    : options_(options),
      task_(task),
      batches_(batches),
      schedule_(options, task.size()),
      adam_(task.parameters(), {options.beta1, options.beta2, options.epsilon, options.weight_decay}) {
  check(options.accumulate >= 1, "Updater: accumulate is {}, needs at least 1 batch", options.accumulate);
}

Update Updater::operator()(std::int64_t step, const std::vector<Batch>& batches, const StopRequest* stop) {
  const SerialOpenMpScope serial;  // the kernels of this project use parallel_for
  adam_.clear_gradients();
  Update update;
  update.sums = accumulate_gradients(step, batches, stop);
  const ScopedTimer timer("optimiser");
  if (!std::isfinite(update.sums.loss)) {
    adam_.skip();
    update.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    return update;
  }
  update.gradient_norm = adam_.step({.learning_rate = schedule_(step),
                                     .divisor = static_cast<double>(update.sums.tokens),
                                     .clip_norm = options_.clip_norm});
  return update;
}

std::vector<Batch> Updater::next_batches(const StopRequest* stop) {
  const ScopedTimer timer("waiting for a batch");
  std::vector<Batch> batches;
  do {
    throw_if_set(stop);
    batches.push_back(batches_.next());
  } while (std::ssize(batches) < options_.accumulate && batches_.position().index != 0);
  return batches;
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

LossSums Updater::accumulate_gradients(std::int64_t step, const std::vector<Batch>& batches, const StopRequest* stop) {
  const std::uint64_t step_seed = mix(options_.seed, static_cast<std::uint64_t>(step));
  LossSums sums;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    throw_if_set(stop);
    Pass pass = Pass::training(mix(step_seed, i), options_.precision);
    const BatchLoss loss = forward(batches[i], pass);
    backward(loss);
    sums += loss.sums;
  }
  return sums;
}

}  // namespace edgewise
