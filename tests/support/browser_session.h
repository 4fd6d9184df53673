// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// The window of a browser.
struct BrowserWindow {
  int width = 1280;
  int height = 1000;
  bool is_dark = false;          // whether the person prefers dark colours
  bool has_less_motion = false;  // whether the person prefers less motion
};

/// Drives a page of a server in headless Chromium as a person does: with keys and the pointer. Messages go through
/// pipes in the DevTools protocol, so that a page with a strict Content-Security-Policy needs no script of the test.
/// The functions throw Error if Chromium does not answer for a minute.
class BrowserSession {
 public:
  explicit BrowserSession(const BrowserWindow& window = {});
  ~BrowserSession();

  BrowserSession(const BrowserSession&) = delete;
  BrowserSession& operator=(const BrowserSession&) = delete;

  /// Opens a page and waits until the page and its scripts are loaded.
  void open(const std::string& url);

  /// Returns the value of a JavaScript expression; waits for a promise. Throws Error if the expression throws.
  nlohmann::json evaluate(const std::string& expression);

  /// Waits until the expression has the value, for at most 20 seconds. Returns the last value.
  nlohmann::json wait_for_value(const std::string& expression, const nlohmann::json& value);

  /// Inserts text at the caret.
  void type(const std::string& text);

  /// Presses a key by its name in KeyboardEvent.key, such as `Tab` or `ArrowLeft`, or ` ` for the space bar.
  void press(const std::string& key);

  /// Moves the pointer to the middle of the element that a JavaScript expression returns, or clicks there.
  void point_at(const std::string& element);
  void click(const std::string& element);

  /// Saves a picture of the window in PNG.
  void save_picture(const std::filesystem::path& path);

  /// Returns the errors and warnings of the console and all exceptions so far.
  const std::vector<std::string>& errors() const { return errors_; }

  /// Returns the URLs of all requests so far.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  class Pipe;

  nlohmann::json send(const std::string& method, const nlohmann::json& parameters = nlohmann::json::object());
  void record(const nlohmann::json& event);
  void send_pointer(std::string_view type, const nlohmann::json& place, int clicks);
  nlohmann::json middle_of(const std::string& element);

  std::unique_ptr<Pipe> pipe_;
  std::string session_;
  std::int64_t last_id_ = 0;
  bool is_loaded_ = false;
  std::vector<std::string> errors_;
  std::vector<std::string> requests_;
};

}  // namespace edgewise
