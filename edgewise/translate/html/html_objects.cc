// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_objects.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

/// Sums over the items up to one, so that any range of items is known in constant time.
struct Content {
  std::size_t words = 0;    // items with letters, and line breaks
  std::size_t texts = 0;    // other items with text
  std::size_t symbols = 0;  // items with a number, or a symbol beyond ASCII
};

Content content_of(const InlineItem& item) {
  if (item.kind == InlineKind::kLineBreak) return {.words = 1};
  if (item.kind != InlineKind::kText) return {};
  Content content = {.texts = 1};
  for_each_code_point(item.bytes, [&](CodePoint point, std::size_t) {
    if (point.size == 0 || is_letter(point.value)) content.words = 1;
    const bool is_sign = point.value >= 0x80 && is_symbol(point.value) && point.value != kReplacementCharacter;
    if (is_number(point.value) || is_sign) content.symbols = 1;
  });
  return content;
}

/// Returns for each start tag the number of its end tag.
std::vector<std::size_t> find_ends(const std::vector<InlineItem>& items) {
  std::vector<std::size_t> ends(items.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == InlineKind::kStartTag) open.push_back(i);
    if (items[i].kind != InlineKind::kEndTag) continue;
    ends[open.back()] = i;
    open.pop_back();
  }
  return ends;
}

bool is_script(std::string_view name) { return equal_without_case(name, "sup") || equal_without_case(name, "sub"); }

}  // namespace

std::vector<InlineItem> join_objects(std::vector<InlineItem> items) {
  const bool has_elements =
      std::ranges::any_of(items, [](const InlineItem& item) { return item.kind == InlineKind::kStartTag; });
  if (!has_elements) return items;
  const std::vector<std::size_t> ends = find_ends(items);
  std::vector<Content> sums(items.size() + 1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Content content = content_of(items[i]);
    sums[i + 1] = {sums[i].words + content.words, sums[i].texts + content.texts, sums[i].symbols + content.symbols};
  }
  std::vector<InlineItem> joined;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_start = items[i].kind == InlineKind::kStartTag && !items[i].is_repeated;
    const std::size_t end = is_start ? ends[i] : i;
    const bool has_words = sums[end + 1].words > sums[i].words;
    const bool is_shown = sums[end + 1].symbols > sums[i].symbols ||
                          (is_start && is_script(items[i].written_name) && sums[end + 1].texts > sums[i].texts);
    if (!is_start || has_words || !is_shown) {
      joined.push_back(std::move(items[i]));
      continue;
    }
    InlineItem object = {InlineKind::kObject};
    for (; i <= end; ++i) {
      const bool is_text = items[i].kind == InlineKind::kText;
      object.bytes += is_text ? escape_html(items[i].bytes, HtmlTextPlace::kContent) : items[i].bytes;
    }
    --i;
    joined.push_back(std::move(object));
  }
  return joined;
}

}  // namespace edgewise
