#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/error.h"
#include "vellum/tools/allocator_replay/report.h"
#include "vellum/tools/allocator_replay/tournament.h"
#include "vellum/tools/allocator_replay/trace.h"
#include "vellum/tools/allocator_replay/training_trace.h"

ABSL_FLAG(std::vector<std::string>, strategies, {},
          "which strategies, separated by commas; all that are linked if empty");
ABSL_FLAG(std::string, json, "", "also write the figures to this file");
ABSL_FLAG(int64_t, memory_limit, 0, "bytes that the device has; 0 for as many as there are");
ABSL_FLAG(bool, touch, false, "write to every page of what is allocated, within its time");
ABSL_FLAG(std::string, make_trace, "", "instead write a log like that of a training to this file");
ABSL_FLAG(int, layers, 12, "of --make_trace");
ABSL_FLAG(int, steps, 20, "of --make_trace");
ABSL_FLAG(uint64_t, seed, 0, "of --make_trace");

namespace vellum::allocator_replay {
namespace {

// `bazel run` starts the program elsewhere; people name paths from where they are.
std::string from_where_the_user_is(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return folder ? (std::filesystem::path(folder) / path).string() : path;
}

template <typename Write>
void write_file(const std::string& path, Write write) {
  std::ofstream out(from_where_the_user_is(path));
  write(out);
  if (!out.flush()) throw_error<IoError>("cannot write ", path);
}

void show_progress(const std::string& strategy, size_t done, size_t operations) {
  std::fprintf(stderr, "\r\033[K%s: %zu of %zu", strategy.c_str(), done, operations);
}

Options options_from_flags() {
  Options options{.touch = absl::GetFlag(FLAGS_touch)};
  const int64_t limit = absl::GetFlag(FLAGS_memory_limit);
  if (limit < 0) throw_error<InvalidArgumentError>("--memory_limit is a number of bytes, not ", limit);
  if (limit > 0) options.memory_limit = limit;
  if (isatty(STDERR_FILENO)) options.progress = show_progress;
  return options;
}

void make_trace(const std::string& path) {
  const TrainingTraceOptions options{
      .layers = absl::GetFlag(FLAGS_layers), .steps = absl::GetFlag(FLAGS_steps), .seed = absl::GetFlag(FLAGS_seed)};
  write_file(path, [&](std::ostream& out) { write_training_trace(out, options); });
}

void run_tournament(const std::string& path) {
  const Trace trace = read_trace_file(from_where_the_user_is(path));
  std::fputs(summary(trace, path).c_str(), stdout);
  const Options options = options_from_flags();
  std::vector<std::string> strategies = absl::GetFlag(FLAGS_strategies);
  if (strategies.empty()) strategies = strategy_names();
  std::vector<Outcome> outcomes;
  for (const std::string& strategy : strategies) outcomes.push_back(replay(trace, strategy, options));
  if (options.progress) std::fputs("\r\033[K", stderr);
  std::fputs(table(trace, outcomes).c_str(), stdout);
  std::printf("Reading the clock is in every latency: %lld ns here.\n", static_cast<long long>(clock_cost()));
  if (const std::string file = absl::GetFlag(FLAGS_json); !file.empty())
    write_file(file, [&](std::ostream& out) { out << json(trace, path, outcomes); });
}

void run(const std::vector<char*>& arguments) {
  if (const std::string path = absl::GetFlag(FLAGS_make_trace); !path.empty()) return make_trace(path);
  if (arguments.size() != 2) throw_error<InvalidArgumentError>("expected one TRACE.csv, or --make_trace=FILE");
  run_tournament(arguments[1]);
}

}  // namespace
}  // namespace vellum::allocator_replay

// allocator_replay [--strategies=NAME,...] [--json=FILE] [--memory_limit=BYTES] [--touch] TRACE.csv, or
// allocator_replay --make_trace=FILE [--layers=N] [--steps=N] [--seed=N]. Exits with 2 where it could not.
int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("replays a log of allocations on every strategy: allocator_replay TRACE.csv");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  try {
    vellum::allocator_replay::run(arguments);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "allocator_replay: %s\n", e.what());
    return 2;
  }
}
