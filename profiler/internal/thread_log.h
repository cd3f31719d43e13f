#ifndef VELLUM_PROFILER_INTERNAL_THREAD_LOG_H_
#define VELLUM_PROFILER_INTERNAL_THREAD_LOG_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "vellum/profiler/internal/session.h"

namespace vellum::internal {

// What one thread records, without a lock but for names that it meets for the first time. Used by that thread only.
class ThreadLog {
 public:
  // A `passing` log ends with its outermost call: nobody tells when a thread of a pool is done.
  ThreadLog(std::shared_ptr<ProfilerSession> session, bool passing);

  const ProfilerSession& session() const { return *session_; }
  bool is_done() const { return passing_ && open_.empty(); }

  void begin(const Annotation& frame) noexcept;
  // Ends the call of `frame` and those in it that are still open. Does nothing when its beginning was not recorded.
  void end(const Annotation& frame) noexcept;
  uint32_t module() noexcept;

  // Ends what is open and hands everything to the session.
  void finish() noexcept;

 private:
  struct Open {
    const Annotation* frame;
    Annotation::Kind kind;
    uint32_t name;
    uint32_t module;
    uint32_t shapes = 0;
    int64_t start = 0;
    int64_t bytes = 0;                            // allocated on this thread before
    int64_t inner_time = 0, inner_bytes = 0;      // of the calls right below
    int64_t modules_time = 0, modules_bytes = 0;  // of the modules and backward steps next below
  };

  uint32_t name_of(const Annotation& frame);
  uint32_t child(uint32_t parent, std::string_view name);
  uint32_t module_around(const Annotation* frame);
  uint32_t module_of(const Annotation& frame);
  uint32_t shapes_of(const Annotation& frame);
  void close(int64_t now, int64_t bytes) noexcept;
  void count(const Open& call, int64_t duration, int64_t bytes) noexcept;
  void keep(const Event& event) noexcept;

  const std::shared_ptr<ProfilerSession> session_;
  const bool passing_;
  const uint32_t thread_;
  std::vector<Open> open_;
  Recording recording_;
  // What the session and the paths have answered before.
  std::array<TextNumbers, kAnnotationKinds> names_;
  std::vector<TextNumbers> children_;
  TextNumbers shapes_;
  std::string shapes_code_;
};

// Operands as bytes: for each its dtype and its rank, a byte each, and its sizes.
void encode_shapes(std::span<const Tensor* const> operands, std::string* code);

}  // namespace vellum::internal

#endif  // VELLUM_PROFILER_INTERNAL_THREAD_LOG_H_
