#ifndef VELLUM_AUTOGRAD_GRAD_MODE_H_
#define VELLUM_AUTOGRAD_GRAD_MODE_H_

#include "vellum/device/thread_state.h"

namespace vellum {

// Grad mode is a bit of the calling thread's mode word; the library's own threads inherit it. While it is off,
// operators record nothing and keep nothing for a backward pass.

inline bool is_grad_enabled() { return thread_state().mode & kModeGrad; }

// Sets the grad mode of this thread: at once, and, while the returned guard lives, for a scope. Both uses of PyTorch:
//   set_grad_enabled(false);                    // until changed
//   SetGradEnabled guard(training);             // until the end of the scope
inline void set_grad_enabled(bool enabled) {
  uint32_t& mode = thread_state().mode;
  mode = enabled ? mode | kModeGrad : mode & ~uint32_t{kModeGrad};
}

class SetGradEnabled {
 public:
  explicit SetGradEnabled(bool enabled) : saved_(is_grad_enabled()) { set_grad_enabled(enabled); }
  ~SetGradEnabled() { set_grad_enabled(saved_); }
  SetGradEnabled(const SetGradEnabled&) = delete;
  SetGradEnabled& operator=(const SetGradEnabled&) = delete;

 private:
  bool saved_;
};

class NoGradGuard : public SetGradEnabled {
 public:
  NoGradGuard() : SetGradEnabled(false) {}
};

class EnableGradGuard : public SetGradEnabled {
 public:
  EnableGradGuard() : SetGradEnabled(true) {}
};

}  // namespace vellum

#endif  // VELLUM_AUTOGRAD_GRAD_MODE_H_
