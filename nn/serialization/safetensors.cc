#include "vellum/nn/serialization/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "vellum/device/atomic_file.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/nn/serialization/internal/mapped_file.h"
#include "vellum/nn/serialization/internal/safetensors_header.h"
#include "vellum/tensor/internal/dry_run.h"
#include "vellum/tensor/internal/make_tensor.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::safetensors {

static_assert(std::endian::native == std::endian::little, "the format is little-endian; swap bytes for another host");

using internal::shown_name;

namespace {

// How much of two names is the same, counted from both ends: most of it after a slip of the pen, all of the shorter one
// where a prefix is missing.
size_t likeness(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  const auto prefix = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto suffix = static_cast<size_t>(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
  return std::min(prefix + suffix, shorter);
}

// ' Near it are "weight" and "bias".'
std::string near_names(std::string_view name, const internal::Entries& entries) {
  constexpr size_t kShown = 3;
  std::vector<std::pair<size_t, const std::string*>> near;
  for (const auto& [other, entry] : entries)
    if (const size_t same = likeness(name, other); 2 * same > name.size()) near.emplace_back(same, &other);
  const size_t shown = std::min(near.size(), kShown);
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater(),
                            [](const auto& candidate) { return candidate.first; });
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += (i ? ", " : "; names like it are ") + shown_name(*near[i].second);
  return text;
}

// Any other byte in a bool would make what reads it undefined.
void check_bools(std::span<const std::byte> bytes, std::string_view name, const std::string& file) {
  const auto bad = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad != bytes.end())
    throw_error<IoError>(file, ": tensor ", shown_name(name), ": the bool at ", bad - bytes.begin(), " has the value ",
                         std::to_integer<int>(*bad), "; it must be 0 or 1");
}

uint64_t length_of_header(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < internal::kLengthBytes)
    throw_error<IoError>(file, ": has ", bytes.size(), " bytes, too few for the length of the header, which takes ",
                         internal::kLengthBytes);
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > internal::kMaxHeaderBytes)
    throw_error<IoError>(file, ": the header would have ", length, " bytes, more than the ", internal::kMaxHeaderBytes,
                         " that are allowed; is this a safetensors file?");
  if (length > bytes.size() - internal::kLengthBytes)
    throw_error<IoError>(file, ": is cut short: the header has ", length, " bytes, the file after its length ",
                         bytes.size() - internal::kLengthBytes);
  return length;
}

}  // namespace

struct File::State {
  std::string name;
  std::optional<vellum::internal::MappedFile> mapped;
  std::span<const std::byte> data;
  internal::Header header;

  void read(std::span<const std::byte> bytes) {
    const uint64_t length = length_of_header(bytes, name);
    const auto text = bytes.subspan(internal::kLengthBytes, length);
    data = bytes.subspan(internal::kLengthBytes + length);
    header = internal::parse_header({reinterpret_cast<const char*>(text.data()), text.size()}, data.size(), name);
  }
};

File::File(std::unique_ptr<State> state) : state_(std::move(state)) {}
File::~File() = default;
File::File(File&& other) noexcept = default;
File& File::operator=(File&& other) noexcept = default;

File File::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  state->mapped.emplace(path);
  state->read(state->mapped->bytes());
  return File(std::move(state));
}

File File::parse(std::span<const std::byte> bytes, std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->read(bytes);
  return File(std::move(state));
}

std::vector<std::string> File::names() const {
  std::vector<std::string> names;
  names.reserve(state_->header.in_order.size());
  for (const auto* named : state_->header.in_order) names.push_back(named->first);
  return names;
}

const std::map<std::string, std::string>& File::metadata() const { return state_->header.metadata; }

bool File::contains(std::string_view name) const { return state_->header.entries.contains(name); }

const Entry& File::entry(std::string_view name) const {
  const internal::Entries& entries = state_->header.entries;
  const auto found = entries.find(name);
  if (found == entries.end())
    throw_error<IndexError>(state_->name, ": among ", entries.size(), " tensors there is no ", shown_name(name),
                            near_names(name, entries));
  return found->second;
}

Tensor File::load(std::string_view name, Device device) const {
  const Entry& found = entry(name);
  if (found.dtype == DType::kUndefined)
    throw_error<DTypeError>(state_->name, ": tensor ", shown_name(name), " has the dtype ",
                            shown_name(found.dtype_name),
                            ", which Vellum lacks; convert it to one that it has (BOOL, U8, I8 to I64, F16, BF16, F32, "
                            "F64, C64) before it is saved");
  if (state_->mapped) state_->mapped->check_size();
  const auto bytes = state_->data.subspan(found.begin, found.end - found.begin);
  if (found.dtype == kBool) check_bools(bytes, name, state_->name);
  // Only ever read from.
  auto* data = const_cast<std::byte*>(bytes.data());
  const Tensor source = from_blob(data, found.shape, TensorOptions(found.dtype, Device(kCPU)));
  const Tensor loaded = empty(found.shape, TensorOptions(found.dtype, device));
  vellum::internal::copy_bytes(loaded, source);
  // The mapping may be gone before a copy that was only enqueued is made.
  current_stream(device).synchronize();
  return loaded;
}

std::map<std::string, Tensor> load_file(const std::string& path, Device device) {
  const File file = File::open(path);
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) tensors.emplace(name, file.load(name, device));
  return tensors;
}

namespace {

Entry entry_for(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined())
    throw_error<InvalidArgumentError>("save_file: tensor ", shown_name(name), " is undefined; leave it out");
  if (device_api(tensor.device().type).shape_only)
    throw_error<DeviceError>("save_file: tensor ", shown_name(name), " is on ", tensor.device(),
                             " and has no values to write");
  const std::string_view format = internal::format_name(tensor.dtype());
  if (format.empty())
    throw_error<DTypeError>("save_file: tensor ", shown_name(name), " is ", tensor.dtype(),
                            ", which the format lacks; save to(kComplex64), or view_as_real() as float64");
  return {.dtype = tensor.dtype(), .shape = tensor.shape(), .dtype_name = std::string(format)};
}

void write(vellum::internal::AtomicFile& file, const Tensor& tensor) {
  const Tensor host = tensor.detach().cpu().contiguous();
  vellum::internal::check_values("save_file", tensor, host);
  file.write({static_cast<const char*>(host.impl().data), static_cast<size_t>(host.nbytes())});
}

}  // namespace

void save_file(const std::string& path, const std::map<std::string, Tensor>& tensors,
               const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, Entry>> entries;
  for (const auto& [name, tensor] : tensors) entries.emplace_back(name, entry_for(name, tensor));
  std::ranges::sort(entries, internal::comes_before);
  uint64_t bytes = 0;
  for (auto& [name, entry] : entries) {
    entry.begin = bytes;
    entry.end = bytes += static_cast<uint64_t>(tensors.at(name).nbytes());
  }
  const std::string header = internal::header_text(entries, metadata);
  if (header.size() > internal::kMaxHeaderBytes)
    throw_error<InvalidArgumentError>("save_file: the header of ", path, " would have ", header.size(),
                                      " bytes, more than the ", internal::kMaxHeaderBytes,
                                      " that readers allow; shorten metadata or names, or save several files");

  const uint64_t length = header.size();
  vellum::internal::AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&length), sizeof(length)});
  file.write(header);
  for (const auto& [name, entry] : entries) write(file, tensors.at(name));
  file.commit();
}

}  // namespace vellum::safetensors
