#ifndef VELLUM_BENCHMARKS_WORKER_H_
#define VELLUM_BENCHMARKS_WORKER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vellum/benchmarks/work.h"

namespace vellum::benchmarks {

// The library whose work a process does.
struct Side {
  std::string version;
  std::vector<Row> rows;
  std::function<void(int threads)> set_num_threads;
  std::function<void()> count_memory;    // called before the first tensor where bytes are to be measured
  std::function<int64_t()> peak_memory;  // the most bytes that tensors have held so far
  std::function<void()> release_memory;  // returns what is cached to the system, between rows
};

// Serves one command in each line of stdin and answers with one line of fields with tabs between, of which the first is
// "ok" or "error"; returns the exit status of the program at the end of stdin.
//
//   (start)        ok, version
//   list           ok, number of rows; then a line for each: name, bytes read, bytes written, flops, parts, tolerance
//   prepare ROW    ok
//   check          ok, then count, sum and scale of every digest
//   run TIMES      ok, seconds in all, of which this process had a processor
//   memory         ok, peak_memory() in bytes, the most resident bytes of the process
//
// Arguments of the program: --threads=N, --count_memory.
int serve(Side side, int argc, char** argv);

}  // namespace vellum::benchmarks

#endif  // VELLUM_BENCHMARKS_WORKER_H_
