// SPDX-License-Identifier: Apache-2.0
// edgewise translate --model RUN [INPUT]
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/apps/commands.h"
#include "edgewise/apps/threads_option.h"
#include "edgewise/apps/translate_sentences.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/line_reader.h"

namespace edgewise {
namespace {

// Lines read before any is translated: batches fill, and a long file needs little memory.
constexpr std::size_t kLinesAtOnce = 1024;

struct TranslateCommand {
  std::string model;
  std::string input = "-";
  std::string output;
  std::optional<std::int64_t> beam;
  int threads = 0;
};

/// The next lines of the input, as many as there are up to the limit.
std::vector<std::string> next_lines(LineReader& reader) {
  std::vector<std::string> lines;
  std::string line;
  while (lines.size() < kLinesAtOnce && reader.next(line)) {
    if (const auto bad = find_bad_utf8(line)) {
      fail("translate: {}:{} has a byte that is not UTF-8 at {}, UTF-8 is needed", reader.path(), reader.line_number(),
           *bad);
    }
    lines.push_back(line);
  }
  return lines;
}

void print_text(std::string_view text) {
  check(std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0,
        "translate: standard output: {}", std::strerror(errno));
}

int run_translate(const TranslateCommand& command) {
  use_threads(command.threads);
  const at::NoGradGuard no_grad;
  LineReader reader(command.input, {.caller = "translate"});
  const TranslationModel model = open_model(command.model);
  SearchOptions options = model.experiment.search;
  if (command.beam) options.beam = *command.beam;

  std::string all;
  for (auto lines = next_lines(reader); !lines.empty(); lines = next_lines(reader)) {
    std::string text;
    for (const std::string& sentence : translate_sentences(model, lines, options)) text += sentence + "\n";
    if (command.output.empty()) {
      print_text(text);
    } else {
      all += text;
    }
  }
  // A file is written whole or not at all.
  if (!command.output.empty()) write_file_atomically(command.output, all, "translate");
  return 0;
}

}  // namespace

void add_translate(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<TranslateCommand>();
  CLI::App* translate = program.add_subcommand("translate", "Translate text, a sentence a line");
  translate->add_option("input", command->input, "the text; standard input by default");
  translate->add_option("--model", command->model, "a run or model directory")->required();
  translate->add_option("--out", command->output, "the file to write; standard output by default");
  translate->add_option("--beam", command->beam, "hypotheses kept alive a sentence; 1 is greedy");
  add_threads_option(*translate, command->threads);
  translate->callback([command, &exit_code] { exit_code = run_translate(*command); });
}

}  // namespace edgewise
