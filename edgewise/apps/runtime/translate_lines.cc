// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "edgewise/apps/runtime/request_reader.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/base/error.h"

namespace edgewise {

void run_lines(TranslateCommand command, const TextShard& shard) {
  std::optional<TextLinesOptions> prefixes;
  if (!command.prefixes.empty()) prefixes = text_options(command, command.prefixes);
  RequestReader requests(text_options(command, command.input), std::move(prefixes), shard);
  const std::unique_ptr<AtomicFile> output = open_output_file(command);
  Translator translator = open_translator(command);
  if (command.shard) check_search_of_shard(translator.search_options());
  command.format.is_n_best = translator.search_options().n_best > 1;
  write_translations(translator, requests, output.get(), "translate", command.format);
}

}  // namespace edgewise
