// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "edgewise/base/files/manifest.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/vocabulary_files.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"
#include "tests/support/whole_files.h"

namespace edgewise::fuzz {

void read_model(std::string_view bytes) {
  static const Folder folder("model");
  folder.write_archive(bytes);
  accept_errors([&] { verify_manifest(folder.path(), "fuzz"); });
  accept_errors([&] {
    const ModelFiles files = read_model_files(folder.path(), "fuzz");
    require(files.experiment.model.input_vocabulary == files.codec.vocabularies.input->size());
    require(!serialize_vocabularies(files.codec.vocabularies, files.experiment.vocabulary.shared).empty());
  });
}

}  // namespace edgewise::fuzz
