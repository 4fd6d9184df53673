// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/model_alterations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/sha256.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

std::string with_header(const std::string& header, const std::string& data) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header + data;
}

std::size_t header_size(const std::string& file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  return size;
}

/// Returns an alteration of the header of model.safetensors; the data stays.
Alteration replace_in_header(const std::string& from, const std::string& to, const std::string& error) {
  const auto alter = [from, to](const std::string& file) {
    std::string header = file.substr(8, header_size(file));
    const std::size_t begin = header.find(from);
    EXPECT_NE(begin, std::string::npos) << from;
    if (begin != std::string::npos) header.replace(begin, from.size(), to);
    return with_header(header, file.substr(8 + header_size(file)));
  };
  return change("header: " + from + " becomes " + to, kModel, alter, Effect::kRefused, error);
}

Alteration set_length(std::uint64_t length, const std::string& error) {
  const auto alter = [length](std::string file) {
    std::memcpy(file.data(), &length, sizeof length);
    return file;
  };
  return change(fmt::format("header of {} bytes", length), kModel, alter, Effect::kRefused, error);
}

Alteration set_header(const std::string& name, const std::string& header, const std::string& error) {
  const auto alter = [header](const std::string&) { return with_header(header, ""); };
  return change("header: " + name, kModel, alter, Effect::kRefused, error);
}

/// Returns an alteration of the tensors of model.safetensors.
Alteration alter_tensors(const std::string& name, const std::function<void(std::vector<TensorInfo>&)>& alter,
                         const std::string& error) {
  const auto apply = [alter](const std::string& bytes) {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "test");
    std::vector<TensorInfo> tensors(file.tensors().begin(), file.tensors().end());
    alter(tensors);
    return serialize_safetensors(tensors);
  };
  return change(name, kModel, apply, Effect::kRefused, error);
}

Alteration set_last_value(float value, const std::string& error) {
  const auto alter = [value](std::string file) {
    std::memcpy(file.data() + file.size() - sizeof value, &value, sizeof value);
    return file;
  };
  return change(fmt::format("a parameter is {}", value), kModel, alter, Effect::kRefused, error);
}

/// Returns an alteration that stores each element of a parameter as these 16 bits.
Alteration store_in_16_bits(DType dtype, std::uint16_t bits, const std::string& error) {
  const auto elements = std::make_shared<std::vector<std::uint16_t>>();
  const auto alter = [=](std::vector<TensorInfo>& tensors) {
    TensorInfo& tensor = tensors.front();
    elements->assign(tensor.bytes.size() / sizeof(float), bits);
    tensor.dtype = dtype;
    tensor.bytes = std::as_bytes(std::span(*elements));
  };
  return alter_tensors(fmt::format("a parameter of {} {:x}", dtype_name(dtype), bits), alter, error);
}

/// Returns an alteration that stores a matrix as I8, with `num_scales` scales for each row.
Alteration store_in_8_bits(std::int64_t num_scales, float scale, const std::string& error) {
  const auto elements = std::make_shared<std::string>();
  const auto scales = std::make_shared<std::vector<float>>();
  const auto alter = [=](std::vector<TensorInfo>& tensors) {
    const auto matrix = std::ranges::find(tensors, 2U, [](const TensorInfo& tensor) { return tensor.shape.size(); });
    elements->assign(matrix->bytes.size() / sizeof(float), '\1');
    scales->assign(static_cast<std::size_t>(matrix->shape[0] * num_scales), scale);
    matrix->dtype = DType::kI8;
    matrix->bytes = std::as_bytes(std::span(*elements));
    const TensorInfo scale_tensor = {
        matrix->name + ".scale", DType::kF32, {std::ssize(*scales)}, std::as_bytes(std::span(*scales))};
    if (num_scales > 0) tensors.push_back(scale_tensor);
  };
  return alter_tensors(fmt::format("a matrix of 8 bits with {} scales of {} for a row", num_scales, scale), alter,
                       error);
}

/// Returns an alteration of the config that makes it contradict another file, which the error names.
Alteration contradict(const std::string& other, const std::string& from, const std::string& to,
                      const std::string& error) {
  Alteration alteration = replace(kConfig, from, to, Effect::kRefused, error);
  alteration.file = other;
  return alteration;
}

std::string with_windows_line_ends(const std::string& bytes) {
  std::string windows;
  for (const char byte : bytes) windows += byte == '\n' ? std::string("\r\n") : std::string(1, byte);
  return windows;
}

/// Returns an alteration that writes the entry of a file in the manifest otherwise.
Alteration list_otherwise(const std::string& name, const std::string& file, Effect effect, const std::string& error,
                          const std::function<void(ManifestEntry&)>& alter) {
  const auto apply = [file, alter](const std::string& bytes) {
    Manifest manifest = parse_manifest(bytes, "test");
    for (ManifestEntry& entry : manifest.files) {
      if (entry.name == file) alter(entry);
    }
    return manifest_text(manifest);
  };
  return change(name, kManifest, apply, effect, error);
}

Alteration list_also(const std::string& name, Effect effect, const std::string& error) {
  const auto apply = [name](const std::string& bytes) {
    Manifest manifest = parse_manifest(bytes, "test");
    manifest.files.push_back({name, 0, sha256("")});
    return manifest_text(manifest);
  };
  return change("lists " + name + " too", kManifest, apply, effect, error);
}

/// Returns an alteration that adds a file, which the manifest does not list.
Alteration add(const std::string& name, const std::string& bytes) {
  return {"with " + name, name, [=](const fs::path& directory) { write_bytes(directory / name, bytes); },
          Effect::kSame};
}

}  // namespace

std::vector<Alteration> alter_parameters() {
  const std::string config = "needs exactly the tensors that the config describes";
  const std::string zeros(64, '\0');
  return {
      set_length(0, "the header is missing, needs an object"),
      set_length(1, "byte 9: a key is missing, needs a string"),
      set_length(std::uint64_t{1} << 63, "has a header of 9223372036854775808 bytes, needs at most 100000000"),
      set_length(~std::uint64_t{0}, "has a header of 18446744073709551615 bytes, needs at most 100000000"),
      set_length(99'999'999, "bytes after the header's length, needs 99999999"),
      set_header("nothing", "", "the header is missing, needs an object"),
      set_header("a list", "[]", "the header is a list, needs an object"),
      set_header("null", "null", "the header is null, needs an object"),
      set_header("no tensors", "{}", config),
      set_header("nested", R"({"a": {"b": )" + std::string(100'000, '['), "values are nested too deep"),
      set_header("two megabytes of metadata", R"({"__metadata__": {"a": ")" + std::string(2'000'000, 'x') + "\"}}",
                 "needs at most 1000000"),
      set_header("elements beyond 2^64",
                 R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})",
                 "needs at most 18446744073709551615"),
      set_header("a dimension of 2^60",
                 R"({"a": {"dtype": "F32", "shape": [1152921504606846976], "data_offsets": [0, 0]}})",
                 "needs at most 9007199254740992"),
      set_header("negative", R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}})",
                 "is -1, needs a whole number"),
      set_header("a name of a megabyte", R"({")" + std::string(1'000'000, 'n') + R"(": {"dtype": "F32"}})",
                 "has no shape, needs dtype, shape and data_offsets"),
      replace_in_header("\"F32\"", "\"F16\"", "for F16 of shape"),
      replace_in_header("\"F32\"", "\"I32\"", config),
      replace_in_header("\"F32\"", "\"F4\"", "needs one of F64, F32"),
      replace_in_header("decoder.norm.bias", "decoder.norm.gain", "is there twice, needs to be there once"),
      replace_in_header("decoder.norm.bias", "decoder.norm.other", config),
      replace_in_header("decoder.norm.bias", "\\u0000", "needs a name without control characters"),
      replace_in_header("decoder.norm.bias", "\xFF", "the text is not UTF-8"),
      replace_in_header("[16]", "[2,8]", config),
      replace_in_header("[16]", "[8]", "bytes, needs 32 for F32 of shape [8]"),
      replace_in_header("\"data_offsets\":[0,", "\"data_offsets\":[4,", "needs"),
      replace_in_header("\"data_offsets\":[0,", "\"data_offsets\":[0.0,", "needs a whole number"),
      replace_in_header("{", "{,", "a key is \",\", needs a string"),
      replace_in_header("}}", "}} x", "more text follows, needs to end here"),
      alter_tensors(
          "a tensor less", [](auto& tensors) { tensors.pop_back(); }, "lacks"),
      alter_tensors(
          "a tensor more",
          [zeros](auto& tensors) {
            tensors.push_back({"surplus", DType::kF32, {16}, std::as_bytes(std::span(zeros))});
          },
          "has \"surplus\", which is not needed, " + config),
      alter_tensors(
          "transposed",
          [](auto& tensors) {
            for (TensorInfo& tensor : tensors) std::ranges::reverse(tensor.shape);
          },
          " instead of F32 "),
      set_last_value(std::numeric_limits<float>::quiet_NaN(), "with infinite values or NaN, needs finite numbers"),
      set_last_value(-std::numeric_limits<float>::infinity(), "with infinite values or NaN, needs finite numbers"),
      store_in_16_bits(DType::kF16, 0x7C00, "with infinite values or NaN, needs finite numbers"),
      store_in_16_bits(DType::kF16, 0xFE01, "with infinite values or NaN, needs finite numbers"),
      store_in_16_bits(DType::kBF16, 0xFF80, "with infinite values or NaN, needs finite numbers"),
      store_in_16_bits(DType::kI16, 1, "as I16 "),
      store_in_8_bits(0, 1, ".scale\", " + config),
      store_in_8_bits(2, 1, " instead of F32 "),
      store_in_8_bits(1, 3e36F, "with infinite values or NaN, needs finite numbers"),
      store_in_8_bits(1, std::numeric_limits<float>::quiet_NaN(), "with infinite values or NaN, needs finite numbers"),
  };
}

std::vector<Alteration> alter_config() {
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  const auto append = [](const std::string& text) { return [text](const std::string& bytes) { return bytes + text; }; };
  return {
      change("CRLF", kConfig, with_windows_line_ends, Effect::kSame),
      change(
          "a byte order mark", kConfig, [](const std::string& bytes) { return "\xEF\xBB\xBF" + bytes; }, Effect::kSame),
      change("bad UTF-8", kConfig, append("# \xC0\xAF\n"), Effect::kRefused, "the text is not UTF-8, needs to be"),
      change("NUL", kConfig, append(std::string("# \0\n", 4))),
      change("a key of 100 001 parts", kConfig, append(deep + " = 1\n"), Effect::kRefused,
             "a key has 100001 parts, needs at most 32"),
      change("a section of 100 001 parts", kConfig, append("[" + deep + "]\n"), Effect::kRefused,
             "a key has 100001 parts, needs at most 32"),
      change("a key of a megabyte", kConfig, append("[" + std::string(900'000, 'k') + "]\n")),
      change("2 MB of comments", kConfig, append(std::string(2'000'000, '#')), Effect::kRefused,
             "needs at most 1048576"),
      change("an unknown section", kConfig, append("[other]\n"), Effect::kRefused, "other is unknown"),
      replace(kConfig, "\nsize = 16", "\nsize = 16\nsize = 16"),
      replace(kConfig, "\nheads = 2", "\nheads = 3"),
      replace(kConfig, "\nencoder_layers = 1", "\nencoder_layers = 0"),
      contradict(kModel, "\nsize = 16", "\nsize = 32", "as F32 [8, 16] instead of F32 [8, 32]"),
      contradict(kModel, "\nencoder_layers = 1", "\nencoder_layers = 2", "lacks \"encoder.layers.1."),
      contradict(kModel, "\nkind = \"transformer\"", "\nkind = \"universal\"", "lacks \"encoder.layer."),
      contradict(kManifest, "\nshared = true", "\nshared = false",
                 "lists none of input_vocabulary.txt, input_vocabulary.model and"),
      replace(kConfig, "\ninput_case = \"keep\"", "\ninput_case = \"truecase\"", Effect::kRefused,
              "has input_case keep, needs truecase as in config.toml; copy the whole directory again"),
  };
}

std::vector<Alteration> alter_vocabulary() {
  return {
      replace(kVocabulary, "size=8", "size=9", Effect::kRefused, "needs the 9 that its first line says"),
      replace(kVocabulary, "size=8", "size=18446744073709551615"),
      replace(kVocabulary, "size=8", "size=18446744073709551616", Effect::kRefused, "needs a whole number"),
      replace(kVocabulary, "<pad>", "<begin>", Effect::kRefused, "needs <pad>"),
      replace(kVocabulary, "\na\n", "\nb\n", Effect::kRefused, "needs each token once"),
      replace(kVocabulary, "\na\n", "\n\xFF\n", Effect::kRefused, "needs UTF-8"),
      replace(kVocabulary, "\na\n", "\n\\\n"),
      replace(kVocabulary, "\na\n", "\na\r\n"),
      replace(kVocabulary, "\na\n", "\n\n", Effect::kRefused, "is empty, needs a token"),
      replace(kVocabulary, "vocabulary 2", "vocabulary 3", Effect::kRefused, "use the build that wrote it"),
      change(
          "no line feed at the end", kVocabulary,
          [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 1); }, Effect::kRefused,
          "the file was cut"),
      change("a SentencePiece model", kVocabulary, [](const std::string&) { return std::string("\n\x02\n\0", 4); }),
      change(
          "40 MB", kVocabulary, [](const std::string&) { return std::string(40'000'000, '\n'); }, Effect::kRefused,
          "has 40000000 bytes, needs at most 33554432"),
      change("a line of 30 MB", kVocabulary,
             [](const std::string& bytes) { return bytes + std::string(30'000'000, 'a'); }),
  };
}

std::vector<Alteration> alter_sentencepiece() {
  const auto append = [](const std::string& bytes) {
    return [bytes](const std::string& model) { return model + bytes; };
  };
  const std::string no_score(4, '\0');
  const std::string pad = "<pad>\x15" + no_score;
  Alteration larger = change("a piece more", kSentencePieceFile, append("\x0A\x06\x0A\x04more"), Effect::kRefused,
                             "needs exactly the tensors that the config describes");
  larger.file = kModel;
  return {
      larger,
      replace(kSentencePieceFile, pad, "<pad>\x15\xFF\xFF\xFF\x7F", Effect::kRefused,
              "piece 0 has a score that is no finite number"),
      replace(kSentencePieceFile, pad + "\x18\x03", pad + "\x18\x01", Effect::kRefused,
              "needs a control piece for padding"),
      replace(kSentencePieceFile, pad + "\x18\x03", pad + "\x18\x07", Effect::kRefused, "has type 7, needs 1 to 6"),
      replace(kSentencePieceFile, "<end>", "<pad>", Effect::kRefused, "which piece 0 is too, needs each once"),
      replace(kSentencePieceFile, "<end>",
              "<e\xFF"
              "d>",
              Effect::kRefused, "needs UTF-8 without NUL"),
      replace(kSentencePieceFile, "<end>", std::string("<e\0d>", 5), Effect::kRefused, "needs UTF-8 without NUL"),
      change("a second trainer_spec", kSentencePieceFile, append(std::string("\x12\0", 2)), Effect::kRefused,
             "has field 2 twice, needs it once"),
      change("self-test data", kSentencePieceFile, append(std::string("\x22\0", 2)), Effect::kRefused,
             "has self-test data"),
      change("a piece of 34 GB", kSentencePieceFile, append("\x0A\xFF\xFF\xFF\xFF\x7F")),
      change("an empty piece", kSentencePieceFile, append(std::string("\x0A\0", 2)), Effect::kRefused,
             "has 0 bytes, needs 1 to 2048"),
      change(
          "nothing but pieces", kSentencePieceFile,
          [](const std::string& model) { return model.substr(0, model.find("<pad>") + 12); }, Effect::kRefused,
          "has no trainer_spec, needs one"),
      change(
          "40 MB", kSentencePieceFile, [](const std::string&) { return "\n" + std::string(40'000'000, '\n'); },
          Effect::kRefused, "needs at most 33554432"),
  };
}

Alteration leave_out(const std::string& file) {
  const auto apply = [file](const std::string& bytes) {
    Manifest manifest = parse_manifest(bytes, "test");
    std::erase_if(manifest.files, [&](const ManifestEntry& entry) { return entry.name == file; });
    return manifest_text(manifest);
  };
  const std::string error =
      file == kVocabulary ? "lists none of vocabulary.txt, vocabulary.model and vocabulary.json, needs one of them"
                          : "does not list " + file + ", needs to; copy the whole directory again";
  return change("does not list " + file, kManifest, apply, Effect::kRefused, error);
}

std::vector<Alteration> alter_manifest() {
  const auto set = [](const std::string& text) { return [text](const std::string&) { return text; }; };
  const std::string plain = "needs a plain one without folders";
  return {
      leave_out(kConfig),
      leave_out(kModel),
      leave_out(kVocabulary),
      change("lists nothing", kManifest, set(R"({"format": 1, "files": []})"), Effect::kRefused,
             "does not list config.toml, needs to"),
      change("no object", kManifest, set("[]"), Effect::kRefused, "the manifest is a list, needs an object"),
      change("no files", kManifest, set(R"({"format": 1})"), Effect::kRefused, "has no files"),
      replace(kManifest, "\"format\": 1", "\"format\": 2", Effect::kRefused, "has format 2, needs 1"),
      replace(kManifest, "\"format\": 1", "\"format\": 1, \"format\": 1", Effect::kRefused, "is there twice"),
      replace(kManifest, "\"format\": 1", "\"format\": 1, \"new\": [1]", Effect::kSame),
      replace(kManifest, "\"format\": 1", "\"format\": 1, \"new\": [[[[[1]]]]]", Effect::kRefused, "nested too deep"),
      replace(kManifest, "\"test\"", "\"\\u001b[31m\"", Effect::kRefused, "needs no control characters"),
      change("a byte order mark", kManifest, [](const std::string& bytes) { return "\xEF\xBB\xBF" + bytes; }),
      change("CRLF", kManifest, with_windows_line_ends, Effect::kSame),
      change(
          "2 MB of spaces", kManifest, [](const std::string& bytes) { return bytes + std::string(2'000'000, ' '); },
          Effect::kRefused, "needs at most 1048576"),
      list_also("/etc/hostname", Effect::kRefused, plain),
      list_also("../tiny.toml", Effect::kRefused, plain),
      list_also("best/x", Effect::kRefused, plain),
      list_also(".", Effect::kRefused, plain),
      list_also("..", Effect::kRefused, plain),
      list_also("", Effect::kRefused, plain),
      list_also(kModel, Effect::kRefused, "is listed twice, needs to be listed once"),
      list_also("absent", Effect::kRefused, "absent: No such file or directory; manifest.json lists it"),
      list_also("Vocabulary.txt", Effect::kRefused, "Vocabulary.txt: No such file or directory"),
      list_otherwise("another size", kModel, Effect::kRefused, "bytes, needs 1 as in manifest.json",
                     [](ManifestEntry& entry) { entry.size = 1; }),
      list_otherwise("another sum", kConfig, Effect::kRefused, "has SHA-256",
                     [](ManifestEntry& entry) { entry.sha256 = sha256("other"); }),
      list_otherwise("a sum in capitals", kConfig, Effect::kRefused, "needs 64 hexadecimal digits",
                     [](ManifestEntry& entry) { entry.sha256 = std::string(64, 'A'); }),
  };
}

std::vector<Alteration> add_files_that_are_not_listed() {
  const std::string other =
      "#edgewise-vocabulary 2 kind=words size=8 separate_punctuation=false marks=close\n"
      "<pad>\n<unknown>\n<begin>\n<end>\nw\nx\ny\nz\n";
  return {add("input_case.txt", "#edgewise-case 1 lower 0\n"),
          add("output_case.txt", "#edgewise-case 1 truecase 0\n"),
          add("vocabulary.model", "\n"),
          add("input_vocabulary.txt", other),
          add("output_vocabulary.txt", other),
          add("training.toml", "x"),
          add("best", "x"),
          add(".hidden", "x")};
}

}  // namespace edgewise
