// Trains a small network to read handwritten digits, and shows what that costs in memory.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "vellum/examples/digits_data.h"
#include "vellum/examples/digits_training.h"
#include "vellum/examples/svg_plot.h"
#include "vellum/vellum.h"

ABSL_FLAG(int, epochs, 30, "passes over the training data");
ABSL_FLAG(int, batch_size, 32, "images in a batch");
ABSL_FLAG(double, lr, 5e-3, "learning rate at first; it falls to 0 along a cosine");
ABSL_FLAG(uint64_t, seed, 0, "of the initial weights, dropout and the order of the images");
ABSL_FLAG(int, threads, 0, "threads to use; 0: as many as there are");
ABSL_FLAG(std::string, plot, "", "where to write training loss and held-out accuracy as an SVG");
ABSL_FLAG(std::string, profile, "",
          "where to write a trace of the training; also prints where its time and memory went");
ABSL_FLAG(bool, predict, false, "predict what the training needs of memory, and show it beside what it needed");
ABSL_FLAG(std::string, data, "", "CSV of digits, plain or compressed by gzip; default: the one that comes along");

namespace vellum {
namespace {

struct History {
  std::vector<double> loss, accuracy;  // of each epoch
};

digits::TrainingOptions training_options() {
  return {.epochs = absl::GetFlag(FLAGS_epochs),
          .batch_size = absl::GetFlag(FLAGS_batch_size),
          .lr = absl::GetFlag(FLAGS_lr),
          .seed = absl::GetFlag(FLAGS_seed)};
}

// Trains and prints a line for each epoch.
History train(const digits::Digits& digits) {
  using Clock = std::chrono::steady_clock;
  const auto samples = static_cast<double>(digits.train.size());
  History history;
  double total = 0;
  Clock::time_point start = Clock::now();
  std::chrono::duration<double> time{};
  const digits::Listener listener{
      .step = [&](const Tensor& loss, int64_t images) { total += loss.item() * static_cast<double>(images); },
      .trained = [&](int) { time = Clock::now() - start; },
      .epoch =
          [&](int epoch, const Tensor& accuracy) {
            history.loss.push_back(total / samples);
            history.accuracy.push_back(accuracy.item());
            std::printf("epoch %3d  loss %.4f  held-out accuracy %.4f  %7.0f samples/s  peak %lld bytes\n", epoch + 1,
                        history.loss.back(), history.accuracy.back(), samples / time.count(),
                        static_cast<long long>(max_memory_allocated()));
            std::fflush(stdout);
            total = 0;
            start = Clock::now();
          }};
  digits::train(digits, training_options(), listener);
  return history;
}

// Trains, and shows beside each other what that was predicted to need and what it needed, if that is asked for.
History train_and_predict(const digits::Digits& digits) {
  if (!absl::GetFlag(FLAGS_predict)) return train(digits);
  const MemoryPeaks predicted = predict_peak([&] { digits::train(digits, training_options()); });
  std::printf("%s\n", peaks_table({{"predicted", predicted}}).c_str());
  std::fflush(stdout);
  History history;
  const MemoryPeaks measured = measure_peak([&] { history = train(digits); });
  std::printf("\n%s\n", peaks_table({{"predicted", predicted}, {"measured", measured}}).c_str());
  return history;
}

// Trains, and shows what that took if it is asked for.
History train_and_profile(const digits::Digits& digits) {
  const std::string trace = absl::GetFlag(FLAGS_profile);
  if (trace.empty()) return train_and_predict(digits);
  Profiler profiler({.shapes = true});
  const History history = train_and_predict(digits);
  profiler.stop();
  profiler.write_trace(trace);
  std::printf("\n%s\n", profiler.table({.rows = 20}).c_str());
  return history;
}

void write_plot(const std::string& path, const History& history) {
  const svg::Plot plot{.title = "Handwritten digits",
                       .x_label = "epoch",
                       .left = {"training loss", "#1f6fb4", history.loss},
                       .right = {"held-out accuracy", "#c4511d", history.accuracy}};
  svg::write_file(path, svg::render(plot));
}

// The data among the files that Bazel lays beside the program: `bazel run` starts it there, also as a dependency.
std::string default_data(const std::string& program) {
  const std::string file = "examples/data/digits.csv.gz";
  for (const std::string& root : {std::string("."), std::string("../vellum"), std::string("../_main"),
                                  program + ".runfiles/vellum", program + ".runfiles/_main"})
    if (std::filesystem::exists(root + "/" + file)) return root + "/" + file;
  throw_error<IoError>(file, " is not here; start with `bazel run`, or name a file with --data");
}

void check_flags(const std::vector<char*>& rest) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw_error<InvalidArgumentError>(what);
  };
  if (rest.size() > 1)
    throw_error<InvalidArgumentError>("'", rest[1], "' is not a flag; flags are written --name=value");
  demand(absl::GetFlag(FLAGS_epochs) >= 1, "--epochs must be 1 or more");
  demand(absl::GetFlag(FLAGS_batch_size) >= 1, "--batch_size must be 1 or more");
  const double lr = absl::GetFlag(FLAGS_lr);
  demand(lr > 0 && std::isfinite(lr), "--lr must be positive");
  demand(absl::GetFlag(FLAGS_threads) >= 0, "--threads must be 0 or more");
}

int run(const std::vector<char*>& arguments) {
  check_flags(arguments);
  if (const int threads = absl::GetFlag(FLAGS_threads)) set_num_threads(threads);
  const std::string file = absl::GetFlag(FLAGS_data);
  const int64_t bytes_at_first = memory_allocated();
  const History history = train_and_profile(digits::read_digits(file.empty() ? default_data(arguments[0]) : file));
  if (const std::string plot = absl::GetFlag(FLAGS_plot); !plot.empty()) write_plot(plot, history);

  const int64_t bytes_at_last = memory_allocated();
  std::printf("active bytes: %lld before, %lld after\n", static_cast<long long>(bytes_at_first),
              static_cast<long long>(bytes_at_last));
  if (bytes_at_first != bytes_at_last) throw Error(ErrorCode::kOutOfMemory, "memory was not given back");
  std::printf("test accuracy %.3f\n", history.accuracy.back());
  return 0;
}

}  // namespace
}  // namespace vellum

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("trains a small network to read handwritten digits");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  try {
    return vellum::run(arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_digits: %s\n", e.what());
    return 1;
  }
}
