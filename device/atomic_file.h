#ifndef VELLUM_DEVICE_ATOMIC_FILE_H_
#define VELLUM_DEVICE_ATOMIC_FILE_H_

#include <span>
#include <string>

namespace vellum::internal {

// Replaces a file as a whole or not at all: what is written goes to a temporary file in the same folder, which commit()
// puts in the place of the target. Until then, and after any failure or crash, the old file stands. Not for use by
// several threads at once; writers of one path in several threads or processes do not disturb each other, the last
// commit wins.
//
// Every error is an IoError naming the path and the system's reason.
class AtomicFile {
 public:
  // Creates the temporary file. A symbolic link is followed: the file that it leads to is replaced. A target that is
  // there must be a regular file; the new one gets its permissions.
  explicit AtomicFile(const std::string& path);

  // Appends.
  void write(std::span<const char> bytes);
  // Has the bytes reach the disk, then renames. Nothing can be written afterwards.
  void commit();

 private:
  // Closed and removed with this object unless it was renamed.
  struct Temporary {
    Temporary() = default;
    ~Temporary();
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    std::string path;
    int file = -1;
  };

  void create();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string target_;
  Temporary temporary_;
};

}  // namespace vellum::internal

#endif  // VELLUM_DEVICE_ATOMIC_FILE_H_
