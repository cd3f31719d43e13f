// Whatever fails while a file is written, the old file stands and nothing is left beside it. The linker puts the
// functions below before those of the system (--wrap).

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tests/fakes/cpu_faults.h"
#include "vellum/tests/nn/serialization/testing.h"

namespace {

// What the system does wrong, until it is told otherwise.
struct Faults {
  int whole_writes = -1;  // that pass before all further ones fail with ENOSPC; negative: none fails
  size_t longest_write = SIZE_MAX;
  bool interrupts = false;  // every other write fails with EINTR
  int create_error = 0;
  int fsync_error = 0;  // of regular files
  int close_error = 0;
  int rename_error = 0;
  int fchmod_error = 0;
};
Faults faults;
int writes = 0;
std::vector<std::string> events;

int fail(int error) {
  errno = error;
  return -1;
}

bool is_folder(int file) {
  struct stat status;
  return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

extern "C" {
int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int file, const void* bytes, size_t count);
int __real_fsync(int file);
int __real_close(int file);
int __real_rename(const char* from, const char* to);
int __real_fchmod(int file, mode_t mode);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return faults.create_error && flags & O_CREAT ? fail(faults.create_error) : __real_open(path, flags, mode);
}
ssize_t __wrap_write(int file, const void* bytes, size_t count) {
  if (faults.interrupts && ++writes % 2 == 1) return fail(EINTR);
  if (faults.whole_writes == 0) return fail(ENOSPC);
  if (faults.whole_writes > 0) --faults.whole_writes;
  return __real_write(file, bytes, std::min(count, faults.longest_write));
}
int __wrap_fsync(int file) {
  const bool folder = is_folder(file);
  if (faults.fsync_error && !folder) return fail(faults.fsync_error);
  events.push_back(folder ? "folder reaches the disk" : "file reaches the disk");
  return __real_fsync(file);
}
int __wrap_close(int file) {
  __real_close(file);
  return faults.close_error ? fail(faults.close_error) : 0;
}
int __wrap_rename(const char* from, const char* to) {
  events.push_back("rename");
  return faults.rename_error ? fail(faults.rename_error) : __real_rename(from, to);
}
int __wrap_fchmod(int file, mode_t mode) {
  return faults.fchmod_error ? fail(faults.fchmod_error) : __real_fchmod(file, mode);
}
}

namespace vellum::safetensors {
namespace {

using namespace vellum::testing;
using fakes::cpu_faults;
using ::testing::AllOf;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::map<std::string, std::string> kMetadata = {{"made", "later"}};

class SaveFaults : public InFolder {
 protected:
  static void SetUpTestSuite() { cpu_faults(); }
  ~SaveFaults() override {
    faults = {};
    cpu_faults().inject({});
  }

  static std::map<std::string, Tensor> tensors() { return {{"a", pattern({3, 4}).t()}, {"b", pattern({5})}}; }

  // Saves over an older file; what the error says, after a look at what stands.
  template <typename E = IoError>
  std::string fault(const Faults& wanted) {
    write(path(), "the old file");
    const auto saved = tensors();
    faults = wanted;
    const std::string message = message_of<E>([&] { save_file(path(), saved, kMetadata); });
    faults = {};
    cpu_faults().inject({});
    expect_old();
    return message;
  }

  void expect_old() {
    EXPECT_EQ(read(path()), "the old file");
    EXPECT_THAT(files(), ElementsAre("x.safetensors"));
  }

  // The bytes of a file that was written undisturbed.
  std::string undisturbed() {
    save_file(path("undisturbed"), tensors(), kMetadata);
    return read(path("undisturbed"));
  }
};

TEST_F(SaveFaults, ADiskThatIsFullAtAnyWrite) {
  for (int passed = 0; passed < 4; ++passed)
    EXPECT_THAT(fault({.whole_writes = passed}),
                AllOf(StartsWith(path() + ": cannot be written: "), HasSubstr("No space left")));
  faults = {.whole_writes = 4};
  save_file(path(), tensors(), kMetadata);
  faults = {};
  EXPECT_EQ(read(path()), undisturbed());
}

TEST_F(SaveFaults, AFileThatWasNotThereStaysAway) {
  faults = {.whole_writes = 2};
  EXPECT_THROW(save_file(path(), tensors()), IoError);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SaveFaults, ADiskThatFailsLater) {
  EXPECT_THAT(fault({.fsync_error = EIO}), HasSubstr("cannot be written: Input/output error"));
  EXPECT_THAT(fault({.close_error = EDQUOT}), HasSubstr("cannot be written: Disk quota exceeded"));
}

TEST_F(SaveFaults, ATargetThatCannotBeReplaced) {
  EXPECT_THAT(fault({.rename_error = EACCES}), HasSubstr("cannot be replaced: Permission denied"));
  EXPECT_THAT(fault({.fchmod_error = EPERM}), HasSubstr("the permissions of the file that it replaces"));
}

TEST_F(SaveFaults, NoMemoryForACopy) {
  write(path(), "the old file");
  const auto saved = tensors();
  cpu_faults().inject({.from = 0});
  EXPECT_THROW(save_file(path(), saved), OutOfMemoryError);
  expect_old();
}

TEST_F(SaveFaults, WritesThatAreCutShortOrInterruptedAreGoneOnWith) {
  faults = {.longest_write = 3, .interrupts = true};
  save_file(path(), tensors(), kMetadata);
  faults = {};
  EXPECT_EQ(read(path()), undisturbed());
}

TEST_F(SaveFaults, TheFileIsOnTheDiskBeforeItHasItsName) {
  events.clear();
  save_file(path(), tensors());
  EXPECT_THAT(events, ElementsAre("file reaches the disk", "rename", "folder reaches the disk"));
}

TEST_F(SaveFaults, AFolderThatIsNotThere) {
  EXPECT_THAT(message_of<IoError>([&] { save_file(path("none/x.safetensors"), tensors()); }),
              AllOf(StartsWith(path("none/x.safetensors")), HasSubstr("cannot be created: No such file or directory")));
}

TEST_F(SaveFaults, AFolderThatMayNotBeWritten) {
  EXPECT_THAT(fault({.create_error = EACCES}),
              AllOf(StartsWith(path()), HasSubstr("cannot be created: Permission denied")));
}

TEST_F(SaveFaults, WhatIsNoRegularFileIsNotReplaced) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(message_of<IoError>([&] { save_file(path(), tensors()); }), HasSubstr("is not a regular file"));
  EXPECT_THAT(message_of<IoError>([&] { save_file(path(""), tensors()); }), HasSubstr("is not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(path()));
  EXPECT_THAT(files(), ElementsAre("x.safetensors"));
}

TEST_F(SaveFaults, TheOldFilesPermissionsAreKept) {
  write(path(), "the old file");
  chmod(path().c_str(), 0640);
  save_file(path(), tensors());
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640);
}

TEST_F(SaveFaults, ANewFileHasThePermissionsThatTheProcessGives) {
  const mode_t before = umask(027);
  save_file(path(), tensors());
  umask(before);
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640);
}

TEST_F(SaveFaults, ALinkIsFollowed) {
  write(path("real"), "the old file");
  std::filesystem::create_symlink("real", path());
  save_file(path(), tensors(), kMetadata);
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
  EXPECT_EQ(read(path("real")), undisturbed());
}

TEST_F(SaveFaults, ALinkThatLeadsNowhereIsRefused) {
  std::filesystem::create_symlink("none", path());
  EXPECT_THAT(message_of<IoError>([&] { save_file(path(), tensors()); }),
              HasSubstr("is a symbolic link that leads nowhere"));
  EXPECT_THAT(files(), ElementsAre("x.safetensors"));
}

}  // namespace
}  // namespace vellum::safetensors
