// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/model_files.h"

#include <cstring>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

bool is_equal(const Vocabulary& a, const Vocabulary& b) {
  return a.serialize() == b.serialize() && a.serialize_case() == b.serialize_case();
}

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

bool is_finite(const TensorInfo& tensor) {
  constexpr std::uint32_t kExponent = 0x7F800000;  // all of its bits are set in infinities and NaN
  bool has_non_finite = false;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i, sizeof bits);
    has_non_finite |= (bits & kExponent) == kExponent;
  }
  return !has_non_finite;
}

/// Only fp32 parameters are checked: a model has no others, and its reader refuses them.
void check_finite(const SafetensorsFile& parameters, const std::string& name, std::string_view caller) {
  for (const TensorInfo& tensor : parameters.tensors()) {
    check(tensor.dtype != DType::kF32 || is_finite(tensor),
          "{}: {} has {} with infinite values or NaN, needs finite numbers; take another checkpoint", caller, name,
          quote(tensor.name));
  }
}

}  // namespace

fs::path find_model(const fs::path& path, std::string_view caller) {
  check(path_exists(path, caller), "{}: {} does not exist, a run or model directory is needed", caller, path.string());
  if (has_entry(path / kManifestName, caller)) return path;
  for (const fs::path& directory : {path / "best", path / "last"}) {
    if (has_entry(directory, caller)) return directory;
  }
  fail("{}: {} holds no model, a directory with {} (or with best/ or last/ that have one) is needed", caller,
       path.string(), kManifestName);
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
  SafetensorsFile parameters = SafetensorsFile::parse(files.read(kParametersFile, SafetensorsFile::max_bytes()), name);
  check_finite(parameters, name, caller);
  return {experiment, text_codec(experiment, vocabularies), std::move(parameters), name, std::move(config)};
}

std::vector<ModelFiles> read_models(const std::vector<std::string>& paths, std::string_view caller) {
  check(!paths.empty(), "{}: models is empty, needs at least one", caller);
  std::vector<ModelFiles> models;
  for (const std::string& path : paths) {
    models.push_back(read_model_files(path, caller));
    const Vocabularies& first = models.front().codec.vocabularies;
    const Vocabularies& other = models.back().codec.vocabularies;
    check(is_equal(*other.input, *first.input) && is_equal(*other.output, *first.output),
          "{}: {} has another vocabulary than {}, needs the same", caller, path, paths.front());
  }
  return models;
}

TransformerOptions transformer_options(const Experiment& experiment, const Vocabularies& vocabularies) {
  TransformerOptions options = experiment.model;
  options.input_vocabulary = vocabularies.input->size();
  options.output_vocabulary = vocabularies.output->size();
  return options;
}

TextCodec text_codec(const Experiment& experiment, const Vocabularies& vocabularies) {
  return {vocabularies, experiment.data.end_input, experiment.data.max_length};
}

}  // namespace edgewise
