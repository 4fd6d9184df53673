// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

void check_cases(const Vocabularies& vocabularies, const VocabularySection& config, const ListedDirectory& files,
                 std::string_view caller) {
  const auto check_case = [&](const Vocabulary& vocabulary, CaseKind needed, std::string_view side) {
    const CaseKind kind = vocabulary.case_kind();
    check(kind == needed, "{}: {} has {}_case {}, needs {} as in {}; copy the whole directory again", caller,
          files.path(), side, enum_name(kind), enum_name(needed), kConfigFile);
  };
  check_case(*vocabularies.input, config.input_case, "input");
  check_case(*vocabularies.output, config.output_case, "output");
}

void check_model_section(const TransformerOptions& options, const ListedDirectory& files, std::string_view caller) {
  try {
    check_options(options);
  } catch (const Error& error) {
    fail("{}: {} has a [model] section that fits no model: {}", caller, files.path(kConfigFile), error.what());
  }
}

/// Returns whether each element has a bit of `exponent` that is 0. All of these bits are 1 in infinities and NaN.
template <typename Bits>
bool has_finite_elements(const TensorInfo& tensor, Bits exponent) {
  bool has_non_finite = false;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i, sizeof bits);
    has_non_finite |= (bits & exponent) == exponent;
  }
  return !has_non_finite;
}

/// Returns whether products of the scales with all numbers of 8 bits are finite.
bool has_finite_products(const TensorInfo& scales) {
  constexpr float kLargest = 128;
  for (std::size_t i = 0; i < scales.bytes.size(); i += sizeof(float)) {
    float scale = 0;
    std::memcpy(&scale, scales.bytes.data() + i, sizeof scale);
    if (!std::isfinite(scale * kLargest)) return false;
  }
  return true;
}

/// Returns whether the values of a parameter are finite. The reader refuses parameters of other types.
bool is_finite(const SafetensorsFile& parameters, const TensorInfo& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return has_finite_elements<std::uint32_t>(tensor, 0x7F800000);
    case DType::kF16:
      return has_finite_elements<std::uint16_t>(tensor, 0x7C00);
    case DType::kBF16:
      return has_finite_elements<std::uint16_t>(tensor, 0x7F80);
    case DType::kI8: {
      const TensorInfo* scales = find_scales(parameters, tensor);
      return scales == nullptr || has_finite_products(*scales);
    }
    default:
      return true;
  }
}

/// Throws Error if the embedding of the begin token has other numbers than 0 although the config says that it is zero.
void check_begin_embedding(const TransformerOptions& options, const SafetensorsFile& parameters,
                           const std::string& name, std::string_view caller) {
  const TensorInfo* table = parameters.find(options.output_embedding_name());
  const std::vector<std::int64_t> shape = {options.output_vocabulary, options.size};
  const bool has_table = table != nullptr && describe_difference(parameters, table->name, shape).empty();
  if (options.begin_embedding == BeginEmbedding::kLearned || !has_table) return;
  std::vector<float> values(static_cast<std::size_t>(options.output_vocabulary * options.size));
  read_values(parameters, *table, values);
  const auto begin = std::span(values).subspan(static_cast<std::size_t>(options.begin_token * options.size),
                                               static_cast<std::size_t>(options.size));
  check(std::ranges::all_of(begin, [](float value) { return value == 0; }),
        "{}: {} has elements other than 0 for the begin token {} in {}, needs 0 with model.begin_embedding=zero; set "
        "model.begin_embedding=learned in {}",
        caller, name, options.begin_token, quote(table->name), kConfigFile);
}

}  // namespace

fs::path find_model(const fs::path& path, std::string_view caller) {
  if (!path_exists(path, caller)) {
    if (const auto named = find_named_model(path, caller)) return *named;
    const std::string names = is_plain_name(path.native()) ? ", or " + describe_model_names(caller) : "";
    fail("{}: {} does not exist, needs a run or model directory{}", caller, path.string(), names);
  }
  if (const auto directory = model_directory(path, caller)) return *directory;
  fail("{}: {} holds no model, needs a directory with {} (or with best/ or last/ that have one)", caller, path.string(),
       kManifestName);
}

void check_finite(const SafetensorsFile& parameters, const std::string& name, std::string_view caller) {
  for (const TensorInfo& tensor : parameters.tensors()) {
    check(is_finite(parameters, tensor),
          "{}: {} has {} with infinite values or NaN, needs finite numbers; take another checkpoint", caller, name,
          quote(tensor.name));
  }
}

Experiment read_model_config(const fs::path& path, std::string_view caller) {
  const ListedDirectory files(find_model(path, caller), caller);
  return parse_experiment(files.read(kConfigFile, kMaxConfigBytes), files.path(kConfigFile));
}

ModelFiles read_model_files(const fs::path& path, std::string_view caller) {
  return read_model_files(ListedDirectory(find_model(path, caller), caller), caller);
}

ModelFiles read_model_files(const ListedDirectory& files, std::string_view caller) {
  std::string config = files.read(kConfigFile, kMaxConfigBytes);
  Experiment experiment = parse_experiment(config, files.path(kConfigFile));
  const Vocabularies vocabularies = read_vocabularies(files, experiment.vocabulary.shared, caller);
  check_cases(vocabularies, experiment.vocabulary, files, caller);

  experiment.model = transformer_options(experiment, vocabularies);
  check_model_section(experiment.model, files, caller);
  const std::string name = files.path(kParametersFile);
  SafetensorsFile parameters = SafetensorsFile::parse(files.read(kParametersFile, kAvailableMemory), name);
  check_finite(parameters, name, caller);
  check_begin_embedding(experiment.model, parameters, name, caller);
  ModelFiles model = {experiment, text_codec(experiment, vocabularies), std::move(parameters), name, std::move(config)};
  if (files.has(kShortlistFile)) {
    model.shortlist = make_shortlist(files.read(kShortlistFile, kMaxShortlistBytes), experiment, vocabularies,
                                     fmt::format("{}: {}", caller, files.path(kShortlistFile)));
  }
  return model;
}

std::vector<ModelFiles> read_models(const std::vector<std::string>& paths, std::string_view caller) {
  check(!paths.empty(), "{}: models is empty, needs at least one", caller);
  std::vector<ModelFiles> models;
  for (const std::string& path : paths) {
    models.push_back(read_model_files(path, caller));
    const Vocabularies& first = models.front().codec.vocabularies;
    const Vocabularies& other = models.back().codec.vocabularies;
    check(have_same_files(*other.input, *first.input) && have_same_files(*other.output, *first.output),
          "{}: {} has another vocabulary than {}, needs the same", caller, path, paths.front());
  }
  return models;
}

void write_derived_model(const ModelFiles& model, std::string_view parameters, const fs::path& destination,
                         std::string_view caller) {
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] :
       serialize_vocabularies(model.codec.vocabularies, model.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, model.config);
  writer.write(kParametersFile, parameters);
  if (model.shortlist != nullptr) writer.write(kShortlistFile, serialize_shortlist(model.shortlist->table()));
  writer.commit();
}

TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies) {
  TransformerOptions options = experiment.model;
  options.input_vocabulary = vocabularies.input->size();
  options.output_vocabulary = vocabularies.output->size();
  const SentenceRules& rules = vocabularies.output->rules();
  options.begin_token = rules.special.begin;
  check(options.begin_embedding == BeginEmbedding::kLearned ||
            std::ranges::binary_search(rules.forbidden, options.begin_token),
        "Transformer: begin_embedding is zero, needs a vocabulary whose outputs cannot contain the begin token {}",
        quote(vocabularies.output->token_text(options.begin_token)));
  return options;
}

std::shared_ptr<const Shortlist> make_shortlist(std::string_view bytes, const Experiment& experiment,
                                                const Vocabularies& vocabularies, const std::string& where) {
  check(has_encoder(experiment.model.kind), "{} belongs to a language model, needs a model with inputs; remove it",
        where);
  return std::make_shared<Shortlist>(parse_shortlist(bytes, where),
                                     ShortlistVocabularies{.input_size = vocabularies.input->size(),
                                                           .output_size = vocabularies.output->size(),
                                                           .end_token = vocabularies.output->special().end,
                                                           .is_shared = experiment.vocabulary.shared},
                                     where);
}

TextCodec text_codec(const Experiment& experiment, const Vocabularies& vocabularies) {
  TextCodec codec = {.vocabularies = vocabularies,
                     .end_input = experiment.data.end_input,
                     .max_positions = experiment.model.num_learned_positions(),
                     .languages = {experiment.data.input_language, experiment.data.output_language}};
  codec.limit_input(experiment.data.max_length);
  return codec;
}

}  // namespace edgewise
