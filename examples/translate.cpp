// SPDX-License-Identifier: Apache-2.0
// Translates the lines of standard input: example_translate MODEL < input.txt > output.txt
#include <iostream>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/translate/translator.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " MODEL < input.txt > output.txt" << std::endl;
    return 2;
  }
  edgewise::Translator translator(argv[1]);

  for (std::string line; std::getline(std::cin, line);) {
    std::cout << translator.translate(line).outputs.front().text << std::endl;
  }
} catch (const edgewise::Error& error) {
  std::cerr << error.what() << std::endl;
  return 2;
}
