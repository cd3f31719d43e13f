#ifndef VELLUM_NN_SERIALIZATION_INTERNAL_MAPPED_FILE_H_
#define VELLUM_NN_SERIALIZATION_INTERNAL_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

namespace vellum::internal {

// The bytes of a regular file, mapped into memory: private, read only. Not copied until they are read. Distinct threads
// may read at once.
class MappedFile {
 public:
  // Throws IoError naming `path` when it cannot be opened or mapped, or is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // Throws IoError when the file is shorter now than when it was mapped: reading the bytes that went missing would end
  // the program with SIGBUS.
  void check_size() const;

 private:
  std::string path_;
  int file_ = -1;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace vellum::internal

#endif  // VELLUM_NN_SERIALIZATION_INTERNAL_MAPPED_FILE_H_
