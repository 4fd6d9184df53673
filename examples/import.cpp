// SPDX-License-Identifier: Apache-2.0
// Converts a model of another system and translates a line: example_import opus-mt-en-de MODEL "Hello world"
#include <iostream>

#include "edgewise/base/error.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/translate/translator.h"

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " DIRECTORY MODEL LINE" << std::endl;
    return 2;
  }
  const edgewise::ImportedModel imported = edgewise::import_model(argv[1], "example_import");
  edgewise::write_model(imported, argv[2], "example_import");

  edgewise::Translator translator(argv[2]);
  std::cout << translator.translate(argv[3]).outputs.front().text << std::endl;
} catch (const edgewise::Error& error) {
  std::cerr << error.what() << std::endl;
  return 2;
}
