// SPDX-License-Identifier: Apache-2.0
// Translates sentences with a model directory: example_translate MODEL < input.txt > output.txt
#include <iostream>
#include <string>

#include "edgewise/translate/runtime_scorers.h"
#include "edgewise/translate/translator.h"

int main(int, char** argv) {
  edgewise::ModelFiles files = edgewise::read_model_files(argv[1], "translate");
  const edgewise::Coding coding = edgewise::coding_of(files);
  const edgewise::SearchOptions search = files.experiment.search;
  edgewise::Translator translator(coding, edgewise::open_runtime_scorers(std::move(files), {}), {.search = search});

  for (std::string line; std::getline(std::cin, line);) {
    std::cout << translator.translate(line).outputs.front().text << std::endl;
  }
}
