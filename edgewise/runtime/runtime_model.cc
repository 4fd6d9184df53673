// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/runtime_model.h"

#include <variant>

#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/runtime/runtime_scorer.h"
#include "edgewise/runtime/weights.h"

namespace edgewise {
namespace {

using AnyWeights = std::variant<Weights<float>, Weights<BFloat16>, Weights<std::int8_t>>;

AnyWeights pack(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                RuntimePrecision precision, const StopRequest* stop) {
  check_options(options);
  switch (precision) {
    case RuntimePrecision::kFp32:
      return pack_weights<float>(options, file, file_name, {.stop = stop});
    case RuntimePrecision::kBf16:
      if (kernels::has_fast_bf16_row_products()) {
        return pack_weights<BFloat16>(options, file, file_name, {.stop = stop});
      }
      return pack_weights<float>(options, file, file_name, {.is_bf16 = true, .stop = stop});
    case RuntimePrecision::kInt8:
      return pack_weights<std::int8_t>(options, file, file_name, {.stop = stop});
  }
  fail("RuntimeModel: precision is {}, needs one of enum_names", static_cast<int>(precision));
}

}  // namespace

struct RuntimeModel::Packed {
  AnyWeights weights;
};

RuntimeModel::RuntimeModel(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                           RuntimePrecision precision, const StopRequest* stop)
    : packed_(new Packed{pack(options, file, file_name, precision, stop)}) {}

RuntimeModel::~RuntimeModel() = default;
RuntimeModel::RuntimeModel(RuntimeModel&& other) noexcept = default;
RuntimeModel& RuntimeModel::operator=(RuntimeModel&& other) noexcept = default;

const TransformerOptions& RuntimeModel::options() const {
  return std::visit([](const auto& weights) -> const TransformerOptions& { return weights.options; }, packed_->weights);
}

std::unique_ptr<Scorer> RuntimeModel::make_scorer(const CrossHeads& recorded_heads,
                                                  std::shared_ptr<const Shortlist> shortlist) const {
  return std::visit([&](const auto& weights) { return make_runtime_scorer(weights, recorded_heads, shortlist); },
                    packed_->weights);
}

}  // namespace edgewise
