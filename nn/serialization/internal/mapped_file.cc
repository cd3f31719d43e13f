#include "vellum/nn/serialization/internal/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "vellum/device/error.h"

namespace vellum::internal {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw_error<IoError>(path, ": cannot be ", what, ": ", std::generic_category().message(errno));
}

struct stat status_of(int file, const std::string& path) {
  struct stat status;
  if (fstat(file, &status) != 0) fail(path, "read");
  return status;
}

// Closes unless told to keep.
struct OpenFile {
  ~OpenFile() {
    if (descriptor >= 0) close(descriptor);
  }
  int descriptor;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK a pipe of this name would be waited for.
  OpenFile file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) fail(path, "opened");
  const struct stat status = status_of(file.descriptor, path);
  if (!S_ISREG(status.st_mode)) throw_error<IoError>(path, ": is not a regular file");
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) {
    void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
    if (data == MAP_FAILED) fail(path, "mapped into memory");
    data_ = data;
  }
  file_ = std::exchange(file.descriptor, -1);
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
  close(file_);
}

void MappedFile::check_size() const {
  const auto now = static_cast<size_t>(status_of(file_, path_).st_size);
  if (now < size_)
    throw_error<IoError>(path_, ": was shortened from ", size_, " to ", now,
                         " bytes while it was open; replace files by renaming, not by writing into them");
}

}  // namespace vellum::internal
