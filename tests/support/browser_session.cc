// SPDX-License-Identifier: Apache-2.0
#include "tests/support/browser_session.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "edgewise/base/error.h"
#include "tests/base/support.h"
#include "tests/support/process.h"

namespace edgewise {
namespace {

using Json = nlohmann::json;

constexpr const char* kChromium = "/usr/bin/chromium";
constexpr int kMostMilliseconds = 60'000;  // for an answer of Chromium
constexpr auto kMostTimeForValue = std::chrono::minutes(5);

/// Chromium reads messages from this descriptor and writes messages to the next one.
constexpr int kChromiumInput = 3;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  // Far from the descriptors that Chromium gets, so that no dup2() closes one that is still needed.
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, "BrowserSession: the system has no pipe, needs two");
  for (int& end : ends) {
    const int high = ::fcntl(end, F_DUPFD_CLOEXEC, 10);
    ::close(end);
    end = high;
  }
  return ends;
}

int key_code(const std::string& key) {
  static const std::map<std::string, int> kCodes = {
      {"Tab", 9},        {"Enter", 13},   {" ", 32},          {"End", 35},       {"Home", 36},
      {"ArrowLeft", 37}, {"ArrowUp", 38}, {"ArrowRight", 39}, {"ArrowDown", 40}, {"Backspace", 8}};
  return kCodes.at(key);
}

std::string decode_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) break;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xff);
  }
  return bytes;
}

}  // namespace

/// A running Chromium and the pipes to it, through which messages of JSON go that end with a zero byte.
class BrowserSession::Pipe {
 public:
  Pipe() : to_browser_(make_pipe()), from_browser_(make_pipe()), process_([this] { return run_browser(); }, {}) {
    ::close(to_browser_[0]);
    ::close(from_browser_[1]);
  }

  ~Pipe() {
    ::close(to_browser_[1]);  // Chromium ends
    ::close(from_browser_[0]);
    process_.wait();
  }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(const Json& message) const {
    const std::string text = message.dump() + '\0';
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t size = ::write(to_browser_[1], text.data() + sent, text.size() - sent);
      check(size > 0, "BrowserSession: Chromium has ended");
      sent += static_cast<std::size_t>(size);
    }
  }

  Json read() {
    std::size_t end = received_.find('\0');
    while (end == std::string::npos) {
      const std::size_t searched = received_.size();
      read_some();
      end = received_.find('\0', searched);
    }
    Json message = Json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return message;
  }

 private:
  /// Runs in the new process.
  int run_browser() const {
    ::dup2(to_browser_[0], kChromiumInput);
    ::dup2(from_browser_[1], kChromiumInput + 1);
    const std::string profile = "--user-data-dir=" + folder_.path().string();
    ::execl(kChromium, kChromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", profile.c_str(), "about:blank",
            nullptr);
    return 127;
  }

  void read_some() {
    pollfd waiting{.fd = from_browser_[0], .events = POLLIN, .revents = 0};
    check(::poll(&waiting, 1, kMostMilliseconds) == 1, "BrowserSession: Chromium does not answer");
    std::array<char, 1 << 14> bytes{};
    const ssize_t size = ::read(from_browser_[0], bytes.data(), bytes.size());
    check(size > 0, "BrowserSession: Chromium has ended");
    received_.append(bytes.data(), static_cast<std::size_t>(size));
  }

  TemporaryFolder folder_;
  std::array<int, 2> to_browser_;
  std::array<int, 2> from_browser_;
  RunningProcess process_;
  std::string received_;
};

BrowserSession::BrowserSession(const BrowserWindow& window) : pipe_(std::make_unique<Pipe>()) {
  const Json target = send("Target.createTarget", {{"url", "about:blank"}});
  session_ = send("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) send(std::string(domain) + ".enable");
  send("Emulation.setDeviceMetricsOverride",
       {{"width", window.width}, {"height", window.height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  const auto feature = [](const char* name, const char* value) { return Json{{"name", name}, {"value", value}}; };
  send("Emulation.setEmulatedMedia",
       {{"features",
         {feature("prefers-color-scheme", window.is_dark ? "dark" : "light"),
          feature("prefers-reduced-motion", window.has_less_motion ? "reduce" : "no-preference")}}});
}

BrowserSession::~BrowserSession() = default;

Json BrowserSession::send(const std::string& method, const Json& parameters) {
  Json message = {{"id", ++last_id_}, {"method", method}, {"params", parameters}};
  if (!session_.empty()) message["sessionId"] = session_;
  pipe_->write(message);
  while (true) {
    const Json answer = pipe_->read();
    if (!answer.contains("id")) {
      record(answer);
    } else if (answer["id"] == last_id_) {
      check(!answer.contains("error"), "BrowserSession: {} {}", method, answer.dump());
      return answer["result"];
    }
  }
}

void BrowserSession::record(const Json& event) {
  const std::string method = event.value("method", "");
  const Json& parameters = event["params"];
  const auto is_bad = [](const std::string& level) { return level == "error" || level == "warning"; };
  if (method == "Page.loadEventFired") is_loaded_ = true;
  if (method == "Network.requestWillBeSent") requests_.push_back(parameters["request"]["url"]);
  const bool is_error = method == "Runtime.exceptionThrown" ||
                        (method == "Runtime.consoleAPICalled" && is_bad(parameters["type"])) ||
                        (method == "Log.entryAdded" && is_bad(parameters["entry"]["level"]));
  if (is_error) errors_.push_back(parameters.dump());
}

void BrowserSession::open(const std::string& url) {
  is_loaded_ = false;
  send("Page.navigate", {{"url", url}});
  while (!is_loaded_) record(pipe_->read());
}

Json BrowserSession::evaluate(const std::string& expression) {
  const Json answer =
      send("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  check(!answer.contains("exceptionDetails"), "BrowserSession: {} throws {}", expression, answer.dump());
  return answer["result"].value("value", Json());
}

Json BrowserSession::wait_for_value(const std::string& expression, const Json& value) {
  const auto deadline = std::chrono::steady_clock::now() + kMostTimeForValue;
  Json found = evaluate(expression);
  while (found != value && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    found = evaluate(expression);
  }
  return found;
}

void BrowserSession::type(const std::string& text) { send("Input.insertText", {{"text", text}}); }

void BrowserSession::press(const std::string& key) {
  Json event = {{"type", "keyDown"}, {"key", key}, {"windowsVirtualKeyCode", key_code(key)}};
  event["code"] = key == " " ? "Space" : key;
  if (key == "Enter") event["text"] = "\r";
  if (key == " ") event["text"] = " ";
  send("Input.dispatchKeyEvent", event);
  event["type"] = "keyUp";
  event.erase("text");
  send("Input.dispatchKeyEvent", event);
}

Json BrowserSession::middle_of(const std::string& element) {
  return evaluate("(() => { const element = " + element +
                  "; element.scrollIntoView({block: 'nearest', behavior: 'instant'});"
                  "const box = element.getBoundingClientRect();"
                  "return {x: box.x + box.width / 2, y: box.y + box.height / 2}; })()");
}

void BrowserSession::send_pointer(std::string_view type, const Json& place, int clicks) {
  send("Input.dispatchMouseEvent", {{"type", type},
                                    {"x", place["x"]},
                                    {"y", place["y"]},
                                    {"button", clicks > 0 ? "left" : "none"},
                                    {"clickCount", clicks}});
}

void BrowserSession::point_at(const std::string& element) { send_pointer("mouseMoved", middle_of(element), 0); }

void BrowserSession::click(const std::string& element) {
  const Json place = middle_of(element);
  send_pointer("mouseMoved", place, 0);
  send_pointer("mousePressed", place, 1);
  send_pointer("mouseReleased", place, 1);
}

void BrowserSession::save_picture(const std::filesystem::path& path) {
  const Json answer = send("Page.captureScreenshot", {{"format", "png"}});
  std::ofstream(path, std::ios::binary) << decode_base64(answer["data"]);
}

}  // namespace edgewise
