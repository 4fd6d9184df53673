// SPDX-License-Identifier: Apache-2.0
// edgewise picture positions -o FILE
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/enum_option.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/options/position_formula.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/signal_picture.h"

namespace edgewise {
namespace {

constexpr std::string_view kPicturePositions = "picture positions";

/// Defaults are the textbook chapter's.
struct PositionsCommand {
  std::string out;
  std::int64_t positions = 100;
  std::int64_t size = 20;
  std::vector<std::int64_t> dimensions = {4, 5, 6, 7};
};

/// What the models add to their word embeddings.
Signal signal_of(PositionKind kind, const PositionsCommand& command) {
  Signal signal{.title = fmt::format("Positions, {}", enum_name(kind)),
                .positions = command.positions,
                .size = command.size,
                .values = std::vector<float>(static_cast<std::size_t>(command.positions * command.size))};
  const std::vector<double> frequencies = position_frequencies(command.size, kind);
  for (std::int64_t position = 0; position < command.positions; ++position) {
    write_position(position, frequencies, signal.values.data() + position * command.size);
  }
  return signal;
}

std::vector<Signal> all_signals(const PositionsCommand& command) {
  std::vector<Signal> signals;
  for (const auto& named : enum_names(PositionKind{})) signals.push_back(signal_of(named.value, command));
  return signals;
}

std::vector<SvgPicture> pictures_of(const PositionsCommand& command) {
  std::vector<SvgPicture> pictures;
  for (const Signal& signal : all_signals(command)) {
    pictures.push_back(draw_map(signal));
    pictures.push_back(draw_curves(signal, command.dimensions));
  }
  return pictures;
}

std::string page_of(const PositionsCommand& command) {
  std::string body =
      "<p>What tells a model where a word stands: a vector for each position, sine in even dimensions and cosine in "
      "odd "
      "ones, slower from dimension to dimension.</p>\n";
  for (const SvgPicture& picture : pictures_of(command)) body += svg_for_page(picture);
  return html_page({.title = "Positions", .body = body});
}

std::string json_of(const PositionsCommand& command) {
  JsonObject json;
  for (const auto& named : enum_names(PositionKind{})) {
    const Signal signal = signal_of(named.value, command);
    std::string rows;
    for (std::int64_t position = 0; position < signal.positions; ++position) {
      std::string row;
      for (std::int64_t i = 0; i < signal.size; ++i) {
        row += (i == 0 ? "" : ", ") + fmt::format("{}", signal.value(position, i));
      }
      rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", row);
    }
    json.add_json(named.name, "[" + rows + "]");
  }
  return json.text() + "\n";
}

int run_positions(const PositionsCommand& command) {
  check_picture_output(command.out, kPicturePositions);
  for (const std::int64_t dimension : command.dimensions) {
    check(dimension >= 0 && dimension < command.size, "{}: --dimensions has {}, needs 0 to {} of size {}",
          kPicturePositions, dimension, command.size - 1, command.size);
  }
  write_picture(command.out,
                {.html = [&] { return page_of(command); },
                 .svg = [&] { return svg_file(arranged("Positions", pictures_of(command), 2)); },
                 .json = [&] { return json_of(command); }},
                kPicturePositions);
  return 0;
}

}  // namespace

void add_picture_positions(CLI::App& picture, int& exit_code) {
  const auto command = std::make_shared<PositionsCommand>();
  CLI::App* positions = picture.add_subcommand(
      "positions", "The vectors that tell a model where a word stands: as a map, and as curves of single dimensions");
  add_picture_output(*positions, command->out);
  positions->add_option("--positions", command->positions, "how many")->check(CLI::Range(1, 1000));
  positions->add_option("--size", command->size, "of a vector")->check(CLI::Range(1, 1024));
  positions->add_option("--dimensions", command->dimensions, "those drawn as curves")->delimiter(',');
  positions->callback([command, &exit_code] { exit_code = run_positions(*command); });
}

}  // namespace edgewise
