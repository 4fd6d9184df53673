// SPDX-License-Identifier: Apache-2.0
// Tests the page in a browser.
#include "edgewise/viz/attention_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/browser.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kHostile = "</script><img src=x onerror=report('hacked')>";

/// Returns different weights per cell; each row sums to 1. Causal weights have no edges to later tokens.
std::vector<float> make_weights(std::size_t rows, std::size_t columns, std::size_t seed, bool is_causal) {
  std::vector<float> weights;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t num_edges = is_causal ? row + 1 : columns;
    float sum = 0;
    for (std::size_t column = 0; column < num_edges; ++column)
      sum += static_cast<float>((row * 7 + column * 13 + seed) % 17 + 1);
    for (std::size_t column = 0; column < columns; ++column) {
      weights.push_back(column < num_edges ? static_cast<float>((row * 7 + column * 13 + seed) % 17 + 1) / sum
                                           : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return weights;
}

AttentionMaps make_maps(const std::string& name, const std::vector<std::string>& rows,
                        const std::vector<std::string>& columns, std::size_t layers, std::size_t heads) {
  AttentionMaps maps{.name = name,
                     .layer_name = "layer",
                     .row_title = "output",
                     .column_title = "input",
                     .rows = rows,
                     .columns = columns,
                     .weights = {}};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    maps.weights.emplace_back();
    for (std::size_t head = 0; head < heads; ++head) {
      maps.weights.back().push_back(make_weights(rows.size(), columns.size(), 3 * layer + head, name == "decoder"));
    }
  }
  return maps;
}

AttentionPage make_page(const std::vector<std::string>& input, const std::vector<std::string>& output,
                        std::size_t layers = 2, std::size_t heads = 3) {
  AttentionPage page{.title = "Where heads look", .input = "input", .output = "output", .maps = {}};
  page.maps = {make_maps("encoder", input, input, layers, heads), make_maps("decoder", output, output, layers, heads),
               make_maps("cross", output, input, layers, heads)};
  page.initial_kind = 2;
  page.initial_map = {.layer = 1, .head = 2};
  return page;
}

AlignmentReport make_alignment(const AttentionPage& page) {
  AlignmentReport report{.input_words = {"the", "car"},
                         .output_words = {"la", "voiture"},
                         .word_of_row = {0, 1, -1},
                         .word_of_column = {0, 1},
                         .sure = {{1, 1}},
                         .possible = {{0, 0}, {1, 1}},
                         .map_alignments = {}};
  for (std::size_t i = 0; i < list_map_indices(page.maps[2]).size(); ++i) {
    report.map_alignments.push_back(
        {.links = {{0, 1}}, .error_rate = 0.5, .corpus_error_rate = 0.01 * static_cast<double>(i)});
  }
  report.corpus_pairs = 20;
  return report;
}

class AttentionPageInBrowser : public testing::Test {
 protected:
  AttentionPageInBrowser()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("edgewise-page-{}", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~AttentionPageInBrowser() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    if (!has_browser()) GTEST_SKIP() << kNoBrowser;
  }

  std::filesystem::path write(const AttentionPage& page) const {
    std::ofstream(folder_ / "page.html", std::ios::binary) << html_of(page);
    return folder_ / "page.html";
  }

  /// Runs a script in the page and returns what it passes to `report`.
  std::string run_script(const AttentionPage& page, const std::string& script) const {
    const OpenedPage opened = open_in_browser(write(page), script);
    EXPECT_THAT(opened.messages, IsEmpty());
    return reported_text(opened);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(AttentionPageInBrowser, DrawsEveryMap) {
  const std::string script = R"js(
    for (const kind of document.querySelectorAll("input[name=kind]")) {
      kind.click();
      const maps = [...document.querySelectorAll("#grid canvas")];
      const colours = (map) => new Set(new Uint32Array(
        map.getContext("2d").getImageData(0, 0, map.width, map.height).data.buffer)).size;
      report(`${maps.length} maps of ${maps[0].width} x ${maps[0].height}, ${maps.filter((m) => colours(m) > 2).length} drawn`);
    })js";
  EXPECT_EQ(run_script(make_page({"a", "b", "c", "d"}, {"x", "y", "z"}), script),
            "12 maps of 4 x 4, 12 drawn\n12 maps of 3 x 3, 12 drawn\n12 maps of 4 x 3, 12 drawn\n");
}

TEST_F(AttentionPageInBrowser, DisplaysTheGivenWeights) {
  const AttentionPage page = make_page({"a", "b", "c", "d"}, {"x", "y", "z"});
  const std::string script = R"js(
    const shown = [];
    document.querySelectorAll("input[name=kind]").forEach((kind) => {
      kind.click();
      document.querySelectorAll("#grid button").forEach((button) => {
        button.click();
        const cells = [...document.querySelectorAll("#view tbody td")];
        shown.push(cells.map((cell) => {
          cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
          return cell.textContent ? Number(document.getElementById("readout").textContent.split(": ").pop()) : null;
        }));
      });
    });
    report(JSON.stringify(shown));)js";
  const nlohmann::json shown = nlohmann::json::parse(run_script(page, script));
  std::size_t next = 0;
  for (const AttentionMaps& maps : page.maps) {
    for (const MapIndex& index : list_map_indices(maps)) {
      SCOPED_TRACE(name_of(maps, index));
      const std::vector<float> weights = weights_of(maps, index);
      ASSERT_EQ(shown.at(next).size(), weights.size());
      for (std::size_t cell = 0; cell < weights.size(); ++cell) {
        const nlohmann::json& weight = shown.at(next).at(cell);
        ASSERT_EQ(weight.is_null(), std::isnan(weights[cell]));
        if (!weight.is_null()) {
          EXPECT_EQ(fmt::format("{:.4f}", weight.get<double>()), fmt::format("{:.4f}", weights[cell]));
        }
      }
      ++next;
    }
  }
  EXPECT_EQ(next, shown.size());
}

TEST_F(AttentionPageInBrowser, DisplaysTheSelectedMapAndTheWeightUnderThePointer) {
  const std::string script = R"js(
    const heading = () => document.getElementById("chosen").textContent;
    const pressed = () => [...document.querySelectorAll("#grid button")].findIndex((b) => b.ariaPressed === "true");
    const readout = () => document.getElementById("readout").textContent;
    report(`${heading()} ${pressed()}`);
    document.querySelectorAll("#grid button")[1].click();
    report(`${heading()} ${pressed()}`);
    document.querySelectorAll("#view tbody td")[5].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    report(readout().split(":")[0]);
    document.querySelector("input[value=flow]").click();
    const lines = () => document.querySelectorAll("#view line:not(.dim)").length;
    report(`${lines()} lines`);
    const token = document.querySelectorAll("#view ul")[1].querySelector("button");
    token.dispatchEvent(new PointerEvent("pointerenter"));
    report(`${lines()} lit, ${readout()}`);
    token.dispatchEvent(new PointerEvent("pointerleave"));
    report(`${lines()} lines`);
    document.querySelector("input[name=kind]").click();
    report(heading());)js";
  EXPECT_EQ(run_script(make_page({"a", "b", "c", "d"}, {"x", "y", "z"}), script),
            "cross, layer 1, head 2 6\ncross, layer 0, head 1 1\n“y” attends to “b”\n12 lines\n"
            "4 lit, “x” attends to “b” 0.4286, “c” 0.3143, “d” 0.2000, “a” 0.0571\n12 lines\n"
            "encoder, layer 0, head 1\n");
}

TEST_F(AttentionPageInBrowser, CanBeOperatedWithKeys) {
  const std::string script = R"js(
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    document.querySelector("#grid button").focus();
    press("ArrowRight");
    press("ArrowDown");
    report(document.activeElement.ariaLabel);
    press("End");
    report(document.activeElement.ariaLabel);
    press("ArrowRight");
    report(document.activeElement.ariaLabel);
    document.querySelector("#view tbody td").focus();
    press("ArrowRight");
    report(document.getElementById("readout").textContent.split(":")[0]);
    report(document.querySelectorAll("#view td[tabindex='0']").length);)js";
  EXPECT_EQ(run_script(make_page({"a", "b", "c", "d"}, {"x", "y", "z"}), script),
            "cross, layer 1, head 1\ncross, mean of layers, mean of heads\ncross, mean of layers, mean of heads\n"
            "“x” attends to “b”\n1\n");
}

TEST_F(AttentionPageInBrowser, FramesGoldLinksAndDisplaysTheErrorRate) {
  AttentionPage page = make_page({"the", "car"}, {"la", "voiture", "<end>"});
  page.aligned_kind = 2;
  page.alignment = make_alignment(page);
  const std::string script = R"js(
    report([...document.querySelectorAll("#view tbody td")].map((cell) => cell.className || "-").join(" "));
    report(document.getElementById("rate").textContent.split(".").slice(0, 2).join("."));
    report(document.querySelector(".rates .here").textContent);
    document.querySelector("input[name=kind]").click();
    report(document.getElementById("alignment").textContent);)js";
  EXPECT_EQ(run_script(page, script), "possible - - sure - -\nAlignment error rate: 50.0 %\n6.0 %\n\n");
}

TEST_F(AttentionPageInBrowser, EscapesHostileTokens) {
  const std::vector<std::string> tokens = {
      kHostile, "&amp;",  "\"'`${x}", "שלום", "e\u0301\u0301", "👩‍👩‍👧", "\u202Ecba", std::string(200, 'w'),
      "<!--",   "\xFF\n", "]]>",      ""};
  AttentionPage page = make_page(tokens, tokens);
  page.input = page.output = page.title = kHostile;
  const std::string script = R"js(
    document.querySelector("input[value=flow]").click();
    document.querySelector("#view button").dispatchEvent(new PointerEvent("pointerenter"));
    document.querySelector("input[value=map]").click();
    report(document.querySelectorAll("#view tbody th")[0].title);
    report(document.querySelectorAll("#view tbody th")[7].title.length);
    report(document.images.length);)js";
  const std::string shown = run_script(page, script);
  EXPECT_THAT(shown, HasSubstr("&lt;/script&gt;&lt;img src=x onerror=report('hacked')&gt;\n200\n0\n"));
  EXPECT_THAT(shown, Not(HasSubstr("\nhacked")));
}

TEST_F(AttentionPageInBrowser, IsBelowFiveMegabytesForSixtyTokens) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 60; ++i) tokens.push_back(fmt::format("token{}", i));
  const AttentionPage page = make_page(tokens, tokens, 6, 8);
  EXPECT_LT(html_of(page).size(), 5'000'000U);
  EXPECT_EQ(run_script(page, "report(document.querySelectorAll('#grid canvas').length);"), "63\n");
}

TEST_F(AttentionPageInBrowser, IsValid) {
  if (!has_validators())
    GTEST_SKIP() << "tidy, xmllint or the DTD of SVG is not installed; make test-pages installs them";
  AttentionPage page = make_page({kHostile, "b", "\"&'"}, {"x", kHostile});
  page.title = kHostile;
  EXPECT_EQ(list_html_errors(write(page)), "");
  for (const SvgPicture& picture : {draw_grid(page.maps[0]), draw(make_heat_map(page.maps[2], {}))}) {
    const auto file = write(page).replace_extension(".svg");
    std::ofstream(file, std::ios::binary) << svg_file(picture);
    EXPECT_EQ(list_svg_errors(file), "");
  }
}

}  // namespace
}  // namespace edgewise
