#include "vellum/device/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "vellum/device/error.h"

namespace vellum::internal {
namespace {

constexpr mode_t kNewFile = 0666;  // less what the process masks

// Names that are not taken by another writer; one left by a crashed process of the same id is stepped over.
std::string temporary_name(const std::string& target) {
  static std::atomic<unsigned> next{0};
  return str_cat(target, ".", getpid(), "-", next.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

// So that the new name survives a crash, too. Whether it does or not, a whole file stands under the name; a failure,
// and some file systems refuse, is no reason to report one.
void sync_folder_of(const std::string& target) {
  const std::string folder = std::filesystem::path(target).parent_path().string();
  const int file = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(path) {
  std::error_code error;
  if (std::filesystem::is_symlink(target_, error)) {
    target_ = std::filesystem::canonical(target_, error).string();
    if (error) throw_error<IoError>(path_, ": is a symbolic link that leads nowhere: ", error.message());
  }
  struct stat old;
  const bool exists = stat(target_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) throw_error<IoError>(path_, ": is not a regular file and is not replaced");
  create();
  if (exists && fchmod(temporary_.file, old.st_mode & 07777) != 0)
    fail("given the permissions of the file that it replaces");
}

AtomicFile::Temporary::~Temporary() {
  if (file >= 0) close(file);
  if (!path.empty()) unlink(path.c_str());
}

void AtomicFile::create() {
  do {
    const std::string path = temporary_name(target_);
    temporary_.file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile);
    if (temporary_.file >= 0) temporary_.path = path;
  } while (temporary_.file < 0 && (errno == EEXIST || errno == EINTR));
  if (temporary_.file < 0) fail("created");
}

void AtomicFile::fail(const char* what) const {
  throw_error<IoError>(path_, ": cannot be ", what, ": ", std::generic_category().message(errno));
}

void AtomicFile::write(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(temporary_.file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("written");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (fsync(temporary_.file) != 0) fail("written");
  // Some network file systems report only here that the space ran out.
  if (close(std::exchange(temporary_.file, -1)) != 0) fail("written");
  if (std::rename(temporary_.path.c_str(), target_.c_str()) != 0) fail("replaced");
  temporary_.path.clear();
  sync_folder_of(target_);
}

}  // namespace vellum::internal
