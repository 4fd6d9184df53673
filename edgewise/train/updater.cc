// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/updater.h"

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

Update Updater::operator()(std::int64_t step, const StopRequest* stop) {
  const SerialOpenMpScope serial;  // the kernels of this project use parallel_for
  Update update;
  update.sums = accumulate_gradients(step, stop);
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

LossSums Updater::accumulate_gradients(std::int64_t step, const StopRequest* stop) {
  const std::uint64_t step_seed = mix(options_.seed, static_cast<std::uint64_t>(step));
  adam_.clear_gradients();
  try {
    LossSums sums;
    std::int64_t num_batches = 0;
    do {
      const Batch batch = next_batch(stop);
      Pass pass = Pass::training(mix(step_seed, static_cast<std::uint64_t>(num_batches)), options_.precision);
      const BatchLoss loss = forward(batch, pass);
      backward(loss);
      sums += loss.sums;
    } while (++num_batches < options_.accumulate && batches_.position().index != 0);
    task_.clear_constant_gradients();
    return sums;
  } catch (...) {
    adam_.clear_gradients();
    throw;
  }
}

Batch Updater::next_batch(const StopRequest* stop) {
  const ScopedTimer timer("waiting for a batch");
  throw_if_set(stop);
  try {
    Batch batch = batches_.next();
    throw_if_set(stop);
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

}  // namespace edgewise
