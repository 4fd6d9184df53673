// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pytorch_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/pickle.h"
#include "edgewise/convert/zip_archive.h"

namespace edgewise {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";

struct StorageType {
  std::string_view global;
  DType dtype;
};

constexpr StorageType kStorageTypes[] = {
    {"torch.DoubleStorage", DType::kF64},    {"torch.FloatStorage", DType::kF32}, {"torch.HalfStorage", DType::kF16},
    {"torch.BFloat16Storage", DType::kBF16}, {"torch.LongStorage", DType::kI64},  {"torch.IntStorage", DType::kI32},
    {"torch.ShortStorage", DType::kI16},     {"torch.CharStorage", DType::kI8},   {"torch.ByteStorage", DType::kU8},
    {"torch.BoolStorage", DType::kBool},
};

std::vector<std::string_view> tensor_globals() {
  std::vector<std::string_view> globals = {kRebuildTensor, kRebuildParameter, "collections.OrderedDict"};
  for (const StorageType& type : kStorageTypes) globals.push_back(type.global);
  return globals;
}

// The copies of tensors that are not contiguous may have this many times the size of the storages. More would be a
// small file whose tensors fill the memory.
constexpr std::uint64_t kMaxCopyRatio = 4;

struct Storage {
  DType dtype;
  std::uint64_t num_elements;
  std::string_view bytes;
};

/// The elements of a tensor within its storage.
struct TensorView {
  std::uint64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

bool is_contiguous(const TensorView& view) {
  std::int64_t stride = 1;
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    if (view.shape[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.shape[axis];
  }
  return true;
}

class StateDictReader {
 public:
  StateDictReader(const std::string& where, const StorageReader& read_storage)
      : where_(where), read_storage_(read_storage) {}

  StoredTensors read(const PickleValue& dict) {
    check(dict.kind == Kind::kDict, "{} is {}, needs a dict of tensors; save the state dict alone", where_,
          describe_kind(dict.kind));
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue& key = *dict.items[i];
      check(key.kind == Kind::kString && !has_control_character(key.text),
            "{} has the key {}, needs text without control characters", where_,
            key.kind == Kind::kString ? quote(key.text) : std::string(describe_kind(key.kind)));
      tensor_ = quote(key.text);
      add_tensor(key.text, *dict.items[i + 1]);
    }
    check_names();
    return std::move(tensors_);
  }

 private:
  void add_tensor(const std::string& name, const PickleValue& value) {
    const PickleValue& call = unwrap_parameter(value);
    check(call.kind == Kind::kCall && call.text == kRebuildTensor, "{}: {} is {}, needs a tensor", where_, tensor_,
          describe_kind(call.kind));
    const auto& arguments = call.items;
    check(arguments.size() == 6, "{}: {} is a call with {} arguments, needs six, without metadata", where_, tensor_,
          arguments.size());
    expect(arguments[4]->kind == Kind::kBool, "requires_grad", *arguments[4], "a truth value");
    expect(is_empty(*arguments[5]), "list of hooks", *arguments[5], "an empty dict");
    const Storage& storage = find_storage(*arguments[0]);
    TensorView view{read_number("offset", *arguments[1]), read_numbers("sizes", *arguments[2]),
                    read_numbers("strides", *arguments[3])};
    const std::string_view bytes = read_elements(storage, view);
    tensors_.tensors.push_back({name, storage.dtype, std::move(view.shape), std::as_bytes(std::span(bytes))});
  }

  const PickleValue& unwrap_parameter(const PickleValue& value) const {
    if (value.kind != Kind::kCall || value.text != kRebuildParameter) return value;
    check(value.items.size() == 3, "{}: {} is a parameter with {} arguments, needs three", where_, tensor_,
          value.items.size());
    expect(is_empty(*value.items[2]), "list of hooks", *value.items[2], "an empty dict");
    return *value.items[0];
  }

  static bool is_empty(const PickleValue& value) {
    return value.kind == Kind::kNone || (value.kind == Kind::kDict && value.items.empty());
  }

  // A persistent id is ('storage', type, key, device, number of elements).
  const Storage& find_storage(const PickleValue& id) {
    const auto& parts = id.items;
    const bool is_storage = id.kind == Kind::kPersistentId && parts.size() == 5 && parts[0]->kind == Kind::kString &&
                            parts[0]->text == "storage" && parts[1]->kind == Kind::kGlobal &&
                            parts[2]->kind == Kind::kString && parts[3]->kind == Kind::kString;
    expect(is_storage, "storage", id, "the id of one");
    const auto* type = std::ranges::find(kStorageTypes, parts[1]->text, &StorageType::global);
    check(type != std::end(kStorageTypes), "{}: the storage of {} has the type {}, needs a type of storage", where_,
          tensor_, parts[1]->text);
    const std::uint64_t num_elements = read_number("storage's size", *parts[4]);
    const auto found = storages_.find(parts[2]->text);
    if (found == storages_.end()) return add_storage(parts[2]->text, type->dtype, num_elements);
    check(found->second.dtype == type->dtype && found->second.num_elements == num_elements,
          "{}: the storage of {} has {} elements of type {}, needs {} of type {}, as for another tensor", where_,
          tensor_, num_elements, dtype_name(type->dtype), found->second.num_elements, dtype_name(found->second.dtype));
    return found->second;
  }

  const Storage& add_storage(const std::string& key, DType dtype, std::uint64_t num_elements) {
    const std::string_view bytes = tensors_.keep(read_storage_(key));
    const std::uint64_t needed =
        checked_multiply(num_elements, dtype_size(dtype), fmt::format("{}: the storage of {}", where_, tensor_));
    check(bytes.size() == needed, "{}: the storage {} has {} bytes, needs {} for {} elements of type {}", where_,
          quote(key), bytes.size(), needed, num_elements, dtype_name(dtype));
    storage_bytes_ += bytes.size();
    return storages_.emplace(key, Storage{dtype, num_elements, bytes}).first->second;
  }

  std::uint64_t read_number(std::string_view part, const PickleValue& value) const {
    expect(value.kind == Kind::kInteger && value.integer >= 0, part, value, "a whole number");
    return static_cast<std::uint64_t>(value.integer);
  }

  std::vector<std::int64_t> read_numbers(std::string_view part, const PickleValue& tuple) const {
    expect(tuple.kind == Kind::kTuple, part, tuple, "a tuple");
    std::vector<std::int64_t> numbers;
    for (const PickleValue* item : tuple.items) numbers.push_back(static_cast<std::int64_t>(read_number(part, *item)));
    return numbers;
  }

  std::string_view read_elements(const Storage& storage, const TensorView& view) {
    check(view.shape.size() == view.strides.size(), "{}: {} has {} strides, needs {}", where_, tensor_,
          view.strides.size(), view.shape.size());
    const std::string what = fmt::format("{}: the size of {}", where_, tensor_);
    const std::uint64_t size = checked_byte_size(storage.dtype, view.shape, what);
    if (size == 0) return {};
    std::uint64_t last = view.offset;
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
      const auto steps = static_cast<std::uint64_t>(view.shape[axis] - 1);
      last = checked_add(last, checked_multiply(steps, static_cast<std::uint64_t>(view.strides[axis]), what), what);
    }
    check(last < storage.num_elements && size <= storage.bytes.size(),
          "{}: {} reaches element {} and has {} bytes, needs to lie within its storage of {} elements, {} bytes",
          where_, tensor_, last, size, storage.num_elements, storage.bytes.size());
    const std::string_view begin = storage.bytes.substr(view.offset * dtype_size(storage.dtype));
    if (is_contiguous(view)) return begin.substr(0, size);
    copied_bytes_ += size;
    check(copied_bytes_ / kMaxCopyRatio <= storage_bytes_,
          "{}: {} and other tensors that are not contiguous have {} bytes, needs at most {} times the {} of the "
          "storages; call contiguous() before saving",
          where_, tensor_, copied_bytes_, kMaxCopyRatio, storage_bytes_);
    return tensors_.keep(copy_strided(begin, dtype_size(storage.dtype), view.shape, view.strides));
  }

  void check_names() const {
    std::vector<std::string_view> names;
    for (const TensorInfo& tensor : tensors_.tensors) names.emplace_back(tensor.name);
    std::ranges::sort(names);
    const auto twin = std::ranges::adjacent_find(names);
    check(twin == names.end(), "{} has two tensors {}, needs a name for each", where_,
          twin == names.end() ? "" : quote(*twin));
  }

  // `part` names the value, which belongs to the tensor.
  void expect(bool holds, std::string_view part, const PickleValue& value, std::string_view needs) const {
    check(holds, "{}: the {} of {} is {}, needs {}", where_, part, tensor_,
          value.kind == Kind::kInteger ? fmt::format("{}", value.integer) : describe_kind(value.kind), needs);
  }

  const std::string& where_;
  const StorageReader& read_storage_;
  std::string tensor_;  // for errors
  StoredTensors tensors_;
  std::map<std::string, Storage, std::less<>> storages_;
  std::uint64_t storage_bytes_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

// The first bytes of the format before PyTorch 1.6: a pickle of the number 0x1950A86A20F9469CFC6C.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8A\x0Al\xFC\x9C\x46\xF9\x20j\xA8P\x19.";

void check_not_legacy(std::string_view first_bytes, const std::string& where) {
  check(!first_bytes.starts_with(kLegacyMagic),
        "{} has the format of PyTorch before 1.6, needs a zip archive; convert it with PyTorch: "
        "torch.save(torch.load(file, weights_only=True), file)",
        where);
}

class PytorchArchive {
 public:
  PytorchArchive(const ZipArchive& archive, const std::string& where) : archive_(archive), where_(where) {}

  StoredTensors read() {
    find_folder();
    for (const ZipEntry& entry : archive_.entries()) check_entry(entry.name);
    check_byte_order();
    const std::string pickle = archive_.read(find("data.pkl"));
    return read_state_dict(pickle, fmt::format("{}: data.pkl", where_),
                           [this](std::string_view key) { return archive_.read(find(fmt::format("data/{}", key))); });
  }

 private:
  // All entries are in one folder, whose name torch.save takes from the file's name.
  void find_folder() {
    const auto& entries = archive_.entries();
    check(!entries.empty(), "{} has no entries, needs a file of torch.save", where_);
    folder_ = entries.front().name.substr(0, entries.front().name.find('/') + 1);
  }

  void check_entry(std::string_view name) const {
    check(!folder_.empty() && name.starts_with(folder_),
          "{} has an entry {}, needs all in one folder, as torch.save does", where_, quote(name));
    const std::string_view file = name.substr(folder_.size());
    check(file != "constants.pkl" && !file.starts_with("code/"),
          "{} is a TorchScript program, needs a state dict; save it with torch.save(model.state_dict(), file)", where_);
    const bool is_known = file == "data.pkl" || file == "byteorder" || file == "version" || file.starts_with("data/") ||
                          file.starts_with('.');
    check(is_known, "{} has an entry {}, needs only those of a state dict", where_, quote(name));
  }

  void check_byte_order() const {
    const ZipEntry* entry = archive_.find(folder_ + "byteorder");
    if (entry == nullptr) return;
    const std::string order = archive_.read(*entry);
    check(order == "little", "{} has the byte order {}, needs \"little\"; save it again on a little-endian machine",
          where_, quote(order));
  }

  const ZipEntry& find(std::string_view file) const {
    const ZipEntry* entry = archive_.find(folder_ + std::string(file));
    check(entry != nullptr, "{} has no entry {}, needs one", where_, quote(folder_ + std::string(file)));
    return *entry;
  }

  const ZipArchive& archive_;
  const std::string& where_;
  std::string folder_;
};

}  // namespace

StoredTensors read_state_dict(std::string_view pickle, const std::string& where, const StorageReader& read_storage) {
  const Pickle parsed = Pickle::parse(pickle, where, tensor_globals());
  return StateDictReader(where, read_storage).read(parsed.root());
}

StoredTensors read_pytorch_model(const std::filesystem::path& path, std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, path.string());
  RegularFile file(path, caller);
  check_not_legacy(file.read_range(0, kLegacyMagic.size()), where);
  const ZipArchive archive = ZipArchive::open(std::move(file), where);
  return PytorchArchive(archive, where).read();
}

StoredTensors parse_pytorch_model(std::string bytes, std::string_view name) {
  const std::string where = fmt::format("read_pytorch_model: {}", name);
  check_not_legacy(bytes, where);
  const ZipArchive archive = ZipArchive::parse(std::move(bytes), where);
  return PytorchArchive(archive, where).read();
}

}  // namespace edgewise
