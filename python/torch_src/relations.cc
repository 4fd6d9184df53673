// SPDX-License-Identifier: Apache-2.0
#include "relations.h"

#include <mutex>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/attention/attention_plan.h"

namespace edgewise::torch_operations {
namespace {

class KeptRelations {
 public:
  std::int64_t add(Relation relation) {
    const std::lock_guard lock(mutex_);
    const std::int64_t number = next_number();
    relations_.emplace(number, std::move(relation));
    return number;
  }

  std::optional<Relation> find(std::int64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = relations_.find(number);
    return found == relations_.end() ? std::nullopt : std::optional(found->second);
  }

  void remove(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    relations_.erase(number);
  }

  std::int64_t size() const {
    const std::lock_guard lock(mutex_);
    return std::ssize(relations_);
  }

  static KeptRelations& of_this_process() {
    // Never destroyed: tensors may outlive the static objects of this library.
    static auto* relations = new KeptRelations;
    return *relations;
  }

 private:
  // Random numbers, so that the number of a handle that another process has saved is not found here.
  std::int64_t next_number() {
    std::int64_t number = 0;
    do {
      number = static_cast<std::int64_t>(random_.next_u64() >> 1);
    } while (relations_.contains(number));
    return number;
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::int64_t, Relation> relations_;
  RandomStream random_{(std::uint64_t{std::random_device()()} << 32) | std::random_device()()};
};

void check_tensors(std::string_view function, const Tensor& row_begin, const Tensor& sources) {
  check_type(function, "row_begin", row_begin, ScalarType::Long);
  check_type(function, "sources", sources, ScalarType::Int);
  check(row_begin.dim() == 1 && row_begin.size(0) > 0 && row_begin.is_cpu() && row_begin.is_contiguous(),
        "{}: row_begin needs to be a contiguous tensor [destinations + 1] on the CPU", function);
  check((sources.dim() == 1 || sources.dim() == 2) && sources.is_cpu() && sources.is_contiguous(),
        "{}: sources needs to be a contiguous tensor [edges] or [destinations, 2] on the CPU", function);
  if (sources.dim() == 2) check_shape(function, "sources", sources, {row_begin.size(0) - 1, 2});
}

Relation copy_relation(std::string_view function, const Tensor& row_begin, const Tensor& sources,
                       std::int64_t num_sources) {
  check_tensors(function, row_begin, sources);
  const auto* numbers = data_of<NodeIndex>(sources);
  if (sources.dim() == 1) {
    const auto* begin = data_of<EdgeIndex>(row_begin);
    return Relation::from_csr(num_sources, {begin, begin + row_begin.numel()}, {numbers, numbers + sources.numel()});
  }
  std::vector<Interval> rows(sources.size(0));
  for (Interval& row : rows) {
    row = {numbers[0], numbers[1]};
    numbers += 2;
  }
  return Relation::from_intervals(num_sources, std::move(rows));
}

bool has_sizes(const Relation& relation, const RelationTensors& tensors, std::int64_t num_sources) {
  const bool has_intervals = relation.form() == Relation::Form::kIntervals;
  return relation.num_sources() == num_sources && relation.num_destinations() + 1 == tensors.row_begin.numel() &&
         tensors.sources.dim() == (has_intervals ? 2 : 1) &&
         (has_intervals || relation.num_edges() == tensors.sources.numel());
}

}  // namespace

Relation find_relation(std::string_view function, const RelationTensors& tensors, std::int64_t num_sources) {
  check_type(function, "handle", tensors.handle, ScalarType::Long);
  if (tensors.handle.numel() == 1) {
    std::optional<Relation> kept = KeptRelations::of_this_process().find(*data_of<std::int64_t>(tensors.handle));
    if (kept && has_sizes(*kept, tensors, num_sources)) return *std::move(kept);
  }
  return copy_relation(function, tensors.row_begin, tensors.sources, num_sources);
}

std::tuple<std::int64_t, std::int64_t> keep_relation(const Tensor& row_begin, const Tensor& sources,
                                                     std::int64_t num_sources) {
  Relation relation = copy_relation("Relation", row_begin, sources, num_sources);
  const auto& plan = relation.derive<kernels::AttentionPlan>();
  const std::int64_t num_saved = plan.num_saved_weights<float>();
  return {KeptRelations::of_this_process().add(std::move(relation)), num_saved};
}

void forget_relation(std::int64_t number) { KeptRelations::of_this_process().remove(number); }

std::int64_t num_kept_relations() { return KeptRelations::of_this_process().size(); }

}  // namespace edgewise::torch_operations
