// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/options/experiment.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/shortlist.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

// Files of a model directory, beside those of its vocabularies (vocabulary_files.h).
inline constexpr std::string_view kConfigFile = "config.toml";
inline constexpr std::string_view kParametersFile = "model.safetensors";
inline constexpr std::string_view kShortlistFile = "shortlist.bin";  // search/shortlist.h; most models have none
inline constexpr std::uint64_t kMaxShortlistBytes = std::uint64_t{1} << 28;

/// A model directory in memory.
struct ModelFiles {
  Experiment experiment;  // its [model] section has the sizes of the vocabularies
  TextCodec codec;
  SafetensorsFile parameters;
  std::string parameters_name;                           // for error messages
  std::string config;                                    // the text of config.toml
  std::shared_ptr<const Shortlist> shortlist = nullptr;  // null: the model has none
};

/// Returns the model directory at a path (model_directory in model_paths.h) or, if nothing has the path and it is a
/// plain name, the model of this name. Throws Error if there is none; the message begins with `caller`.
std::filesystem::path find_model(const std::filesystem::path& path, std::string_view caller);

/// Reads the config of the model that find_model returns, and no other file.
Experiment read_model_config(const std::filesystem::path& path, std::string_view caller);

/// Reads the directory that find_model returns, or a directory that is open already: the files that its manifest.json
/// lists, whose bytes must have the size and SHA-256 listed. Other files have no effect. Throws Error also for
/// parameters that are not finite, and for a begin token whose embedding the config calls zero, but is not.
ModelFiles read_model_files(const std::filesystem::path& path, std::string_view caller);
ModelFiles read_model_files(const ListedDirectory& files, std::string_view caller);

/// Throws Error, which calls the file `name`, for a parameter that is not finite.
void check_finite(const SafetensorsFile& parameters, const std::string& name, std::string_view caller);

/// Reads the members of an ensemble, at least one. Throws Error unless their vocabularies are equal.
std::vector<ModelFiles> read_models(const std::vector<std::string>& paths, std::string_view caller);

/// Returns the options of the [model] section, with the properties of these vocabularies. Throws Error if outputs may
/// contain the begin token although its embedding is zero.
TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies);

/// Parses the shortlist of a model with these vocabularies. Throws Error as its constructor does, and for a language
/// model, which has no inputs.
std::shared_ptr<const Shortlist> make_shortlist(std::string_view bytes, const Experiment& experiment,
                                                const Vocabularies& vocabularies, const std::string& where);

/// Returns the codec for a model that was trained by `experiment`: the codec's max_input is the greatest input length
/// in training, or that of the model's positions if that is smaller.
TextCodec text_codec(const Experiment& experiment, const Vocabularies& vocabularies);

/// Packs a model for translating. All scorers that the result makes share the packed parameters, use the shortlist if
/// there is one, and return the cross-attention weights of `recorded_heads`. Making a scorer throws Error if the model
/// lacks that layer or head. Packing throws StopException if `stop` is set meanwhile.
ScorerFactory make_runtime_scorer_factory(ModelFiles files, RuntimePrecision precision = RuntimePrecision::kFp32,
                                          const CrossHeads& recorded_heads = {}, const StopRequest* stop = nullptr);

/// Does so on the GPU with a number that choose_gpu() returned, without the shortlist. Throws Error, too, for a model
/// without kernels for GPUs (runtime/gpu/model.h) and in a build without CUDA.
ScorerFactory make_gpu_scorer_factory(ModelFiles files, RuntimePrecision precision, const CrossHeads& recorded_heads,
                                      const StopRequest* stop, std::int64_t gpu);

/// Writes a model directory with the config, the vocabularies and the shortlist of a model, and with other parameters:
/// the bytes of a safetensors file. Errors begin with `caller`.
void write_derived_model(const ModelFiles& model, std::string_view parameters, const std::filesystem::path& destination,
                         std::string_view caller);

/// Writes a model directory whose parameters are the mean over several model or run directories, usually checkpoints of
/// one training: their mean is often better than the last checkpoint. The other files are those of the first model, its
/// shortlist included.
/// Sums are in double precision, and means are written in fp32; one model at a time is in memory. Throws Error, without
/// writing anything, for models that differ in their vocabularies or in an option of [model] that does not act in
/// training alone, for a model whose tensors are not those of its config, and for a destination that
/// check_output_directory refuses.
void average_models(std::span<const std::filesystem::path> models, const std::filesystem::path& destination,
                    Overwrite overwrite = Overwrite::kNo);

/// Writes a model directory with the matrices of a model in 8 bits, a quarter of the size: embeddings and the weights
/// of products become I8 with a scale for each row, as products in int8 round them. Other parameters are written in
/// fp32. A matrix that is stored in 8 bits already keeps its bits. Throws Error, without writing anything, for a model
/// whose tensors are not those of its config, and for a destination that check_output_directory refuses.
void quantise_model(const std::filesystem::path& model, const std::filesystem::path& destination,
                    Overwrite overwrite = Overwrite::kNo);

}  // namespace edgewise
