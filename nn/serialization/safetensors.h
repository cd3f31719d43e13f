#ifndef VELLUM_NN_SERIALIZATION_SAFETENSORS_H_
#define VELLUM_NN_SERIALIZATION_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/tensor.h"

// Files of named tensors in the safetensors format (https://huggingface.co/docs/safetensors): eight bytes with the
// length of a JSON header, the header, and the tensors' row-major little-endian bytes. Nothing in a file is code, and a
// file from a stranger can at worst raise an error.

namespace vellum::safetensors {

// What the header says of one tensor.
struct Entry {
  DType dtype = DType::kUndefined;  // undefined where Vellum has no such dtype
  Dims shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data section
  std::string dtype_name;       // as the file spells it: "F32"
};

// A file whose header was read and checked as a whole. Its data are mapped into memory and read when a tensor is
// loaded. A handle that can be moved but not copied; distinct threads may use it at once.
//
// A file must not be written into while it is open; replace it by renaming another one, as save_file() does, and this
// handle goes on reading the old one. Where another program shortened it all the same, load() throws IoError; where
// that happens during the load, the system ends the program with SIGBUS, as with every mapped file.
class File {
 public:
  // Throws IoError naming the file and the fault when it cannot be read or anything in it is not as the format has it:
  // a header of more than 100 MB or one that is not a JSON object in UTF-8, keys that are there twice or unknown,
  // metadata that are not strings, more than 8 dimensions, a range of data that is not of the size that shape and dtype
  // take, or data that overlap, leave holes, or belong to no tensor.
  static File open(const std::string& path);
  // The same over bytes that the caller keeps alive and unchanged; `name` stands for the path in errors.
  static File parse(std::span<const std::byte> bytes, std::string name);

  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  std::vector<std::string> names() const;                      // in the order of their data
  const std::map<std::string, std::string>& metadata() const;  // "__metadata__"; empty where there is none
  bool contains(std::string_view name) const;
  // Throws IndexError that lists names like the one asked for. A reference lives as long as the file's handle.
  const Entry& entry(std::string_view name) const;
  // A copy in the device's allocator, row-major, without history. Throws IndexError as entry() does, DTypeError where
  // Vellum has no such dtype (unsigned integers of more than 8 bits, floats of less than 16), and IoError where a bool
  // is neither 0 nor 1.
  Tensor load(std::string_view name, Device device = Device(kCPU)) const;

 private:
  struct State;
  explicit File(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// All tensors of a file by name. Throws as File::open() and File::load() do.
std::map<std::string, Tensor> load_file(const std::string& path, Device device = Device(kCPU));

// Writes tensors of any layout and device, detached, and texts that go with them. The bytes depend on nothing but the
// arguments: tensors stand from the widest dtype to the narrowest and then by name, as the format's own library puts
// them, and metadata by key. Holds one copy of a tensor that is not row-major in the host's memory at a time. Tensors
// that share memory are each written out.
//
// The file at `path` is replaced as a whole after all bytes reached the disk, or stays as it was whatever fails. A
// symbolic link is followed. Throws IoError with the system's reason, InvalidArgumentError for a name or text that is
// not UTF-8 and for a tensor called "__metadata__" or undefined, DTypeError for complex128, which the format lacks (C64
// is its only complex dtype), and DeviceError for a tensor without values, as on "meta".
void save_file(const std::string& path, const std::map<std::string, Tensor>& tensors,
               const std::map<std::string, std::string>& metadata = {});

}  // namespace vellum::safetensors

#endif  // VELLUM_NN_SERIALIZATION_SAFETENSORS_H_
