// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

struct GpuModelOptions {
  RuntimePrecision precision = RuntimePrecision::kFp32;
  std::int64_t gpu = 0;
  const StopRequest* stop = nullptr;
};

/// A Transformer for inference on a GPU, without libtorch, as RuntimeModel is on the CPU. Its weights never change, so
/// that scorers on several threads can share them. A program without CUDA has no kernels for GPUs, except
/// tests, which have the emulator.
class GpuModel {
 public:
  /// Copies the parameters in `file`, which has the tensor names of checkpoints, to a GPU. Error messages call the file
  /// `file_name`. Throws Error for options that contradict each other or the file or for which there are no kernels:
  /// Universal Transformers, additive scores, heads of a size that is above 128 or no multiple of 8, and int8. Throws
  /// StopException if `stop` is set meanwhile, and std::exception if the GPU cannot be used.
  GpuModel(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
           const GpuModelOptions& gpu_options = {});
  ~GpuModel();
  GpuModel(GpuModel&& other) noexcept;
  GpuModel& operator=(GpuModel&& other) noexcept;

  const TransformerOptions& options() const;

  /// Returns a scorer that uses this model, which must outlive it, and has a stream of its own. One thread at a time
  /// may call a scorer. A sentence's results have the same bits in any batch. `recorded_heads` selects the
  /// cross-attention weights that steps return. Throws Error for a layer or head that the model does not have.
  std::unique_ptr<Scorer> make_scorer(const CrossHeads& recorded_heads = {}) const;

 private:
  struct Copied;
  std::unique_ptr<const Copied> copied_;
};

}  // namespace edgewise
