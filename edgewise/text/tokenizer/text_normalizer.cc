// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/text/tokenizer/replaced_text.h"
#include "edgewise/text/tokenizer/text_steps.h"

namespace edgewise {
namespace {

/// Makes each character lower case on its own, without a rule for the end of a word.
std::string lower_each(std::string_view text) {
  std::string lower;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    lower += lower_case(text.substr(offset, std::max<std::size_t>(point.size, 1)));
  });
  return lower;
}

std::string_view strip_white_space(std::string_view text, bool left, bool right) {
  std::size_t begin = 0, end = 0;
  bool is_leading = left;
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    const std::size_t next = offset + std::max<std::size_t>(point.size, 1);
    if (!is_white_space(point.value)) {
      end = next;
      is_leading = false;
    } else if (is_leading) {
      begin = next;
    }
  });
  if (!right) end = text.size();
  return text.substr(begin, end > begin ? end - begin : 0);
}

bool removes_beginning(std::string_view text, const NormalizerStep& step) {
  if (step.kind == NormalizerKind::kReplace) return step.to.empty() && text.starts_with(step.from);
  return step.kind == NormalizerKind::kStrip && step.strips_left && !text.empty() &&
         is_white_space(code_point_at(text, 0).value);
}

std::string apply_step(std::string_view text, const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerKind::kNormalForm:
      return to_normal_form(text, step.form);
    case NormalizerKind::kLowercase:
      return lower_each(text);
    case NormalizerKind::kStrip:
      return std::string(strip_white_space(text, step.strips_left, step.strips_right));
    case NormalizerKind::kReplace:
      return replace_each(text, step.from, step.to);
    case NormalizerKind::kPrepend:
      return text.empty() ? std::string() : step.to + std::string(text);
  }
  return std::string(text);
}

}  // namespace

NormalizedText normalize(std::string_view text, std::span<const NormalizerStep> steps) {
  NormalizedText normal = {.text = std::string(text)};
  for (const NormalizerStep& step : steps) {
    if (removes_beginning(normal.text, step)) normal.has_beginning = false;
    normal.text = apply_step(normal.text, step);
    check_growth("encode", normal.text.size(), text.size());
  }
  return normal;
}

}  // namespace edgewise
