// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/exported_model.h"

#include "edgewise/base/files/directory.h"
#include "edgewise/convert/export_ctranslate2.h"

namespace edgewise {
namespace {

std::map<std::string, std::string> exported_files(const ModelFiles& model, ExportFormat format,
                                                  std::string_view caller) {
  switch (format) {
    case ExportFormat::kMarian:
      return export_marian(model, caller);
    case ExportFormat::kCtranslate2:
      return export_ctranslate2(model, caller);
    default:
      return export_hugging_face(model, caller);
  }
}

}  // namespace

void export_model(const ModelFiles& model, ExportFormat format, const std::filesystem::path& destination,
                  std::string_view caller) {
  const std::map<std::string, std::string> files = exported_files(model, format, caller);
  DirectoryWriter writer(destination, caller);
  for (const auto& [name, bytes] : files) writer.write(name, bytes);
  writer.commit();
}

}  // namespace edgewise
