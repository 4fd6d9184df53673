// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Random documents whose structure a test can check: words of small letters, and what a translation must keep.

namespace edgewise {

/// A document, and the spans that its translation must have, each as often as here.
struct StructuredText {
  std::string text;
  std::vector<std::string> spans = {};
};

/// Makes documents from a seed.
class StructuredTexts {
 public:
  explicit StructuredTexts(std::uint32_t seed) : random_(seed) {}

  static const std::vector<std::string>& words() {
    static const std::vector<std::string> kWords = {"river", "house", "green", "small", "walks", "often",
                                                    "never", "seven", "apple", "stone", "bread", "night"};
    return kWords;
  }

  /// Returns HTML with an `id` for each inline element and object, and with one space between words.
  StructuredText html() {
    document_ = {};
    const std::size_t blocks = 1 + below(4);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::string name = one_of({"p", "li", "td", "h2", "blockquote"});
      document_.text += "<" + name + ">";
      add_inline(2);
      document_.text += "</" + name + ">\n";
    }
    return document_;
  }

  /// Returns a text with the marks of Markdown, subtitles and columns.
  StructuredText markdown() {
    document_ = {};
    const std::size_t lines = 3 + below(8);
    for (std::size_t i = 0; i < lines; ++i) add_line();
    return document_;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  std::string one_of(const std::vector<std::string>& texts) { return texts[below(texts.size())]; }

  std::string word() { return one_of(words()); }

  std::string number_tag(const std::string& name) { return "<" + name + " id=\"" + std::to_string(++last_id_) + "\">"; }

  void add_words() {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) document_.text += (i == 0 ? "" : " ") + word();
  }

  void add_span(const std::string& span) {
    document_.text += span;
    document_.spans.push_back(span);
  }

  void add_html_object() {
    const std::string id = std::to_string(++last_id_);
    add_span(
        one_of({"<img id=\"" + id + "\" src=\"a.png\">", "<code id=\"" + id + "\">x &lt; y</code>",
                "<span translate=\"no\" id=\"" + id + "\">Ada Ash</span>",
                "<sup id=\"" + id + "\"><a href=\"#n\">[" + id + "]</a></sup>", "<b id=\"" + id + "\">" + id + "</b>",
                "<x id=\"" + id + "\"/>", "<math id=\"" + id + "\"><mi>z</mi></math>"}));
  }

  void add_text_span() {
    const std::string number = std::to_string(10'000 + ++last_id_);
    add_span(one_of({"https://a.org/" + number, "a" + number + "@b.org", "file" + number + ".txt", "%" + number + "$s",
                     "{n" + number + "}", "${n" + number + "}", "v1.2." + number, "#" + number, number, "AB-" + number,
                     "`c" + number + "`", "\U0001F600"}));
  }

  /// Adds words, objects, spans and elements with spaces between them.
  void add_inline(std::size_t depth) {
    const std::size_t items = 1 + below(5);
    document_.text += word();
    for (std::size_t i = 0; i < items; ++i) {
      document_.text += ' ';
      switch (below(depth > 0 ? 5 : 4)) {
        case 0:
          add_html_object();
          break;
        case 1:
          add_text_span();
          break;
        case 4: {
          const std::string name = one_of({"a", "b", "i", "span", "g"});
          document_.text += number_tag(name);
          add_inline(depth - 1);
          document_.text += "</" + name + ">";
          break;
        }
        default:
          add_words();
      }
    }
  }

  void add_sentence() {
    document_.text += word();
    const std::size_t items = below(4);
    for (std::size_t i = 0; i < items; ++i) {
      document_.text += ' ';
      if (below(3) == 0) {
        add_text_span();
      } else {
        add_words();
      }
    }
  }

  void add_line() {
    switch (below(10)) {
      case 0:
        document_.text += one_of({"# ", "## ", "> ", "> > "});
        break;
      case 1:
        document_.text += one_of({"- ", "* ", "  - ", "1. ", "12) ", "- [ ] ", "\u2022 ", "a) "});
        break;
      case 2:
        add_span("| :--- | ---: |\n");
        return;
      case 3:
        document_.text += "| ";
        add_sentence();
        document_.text += " | ";
        add_sentence();
        document_.text += " |\n";
        return;
      case 4:
        add_sentence();
        document_.text += '\t';
        add_sentence();
        document_.text += "\t12.5\n";
        return;
      case 5:
        add_span("```sh\nrun " + word() + "\n\n  - " + word() + "\n```\n");
        return;
      case 6:
        add_span("00:00:07,882 --> 00:00:10,510\n");
        break;
      case 7:
        add_span(one_of({"\n", "---\n", "***\n", "7\n", "[n]: https://a.org/x\n", "=====\n"}));
        return;
      default:
        break;
    }
    add_sentence();
    document_.text += '\n';
  }

  std::mt19937 random_;
  StructuredText document_;
  int last_id_ = 0;
};

}  // namespace edgewise
