// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/written_model.h"

#include "edgewise/base/files/directory.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

void check_tensors(const ModelFiles& model) {
  RuntimeModel(model.experiment.model, model.parameters, model.parameters_name, RuntimePrecision::kFp32);
}

void write_with_parameters(const ModelFiles& model, std::string_view parameters,
                           const std::filesystem::path& destination, std::string_view caller) {
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : vocabulary_files(model.codec.vocabularies, model.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, model.config);
  writer.write(kParametersFile, parameters);
  writer.commit();
}

}  // namespace edgewise
