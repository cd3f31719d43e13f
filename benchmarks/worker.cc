#include "vellum/benchmarks/worker.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace vellum::benchmarks {
namespace {

class Worker {
 public:
  explicit Worker(Side side) : side_(std::move(side)) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, operand;
    words >> command >> operand;
    out_.str("");
    if (command == "list")
      list();
    else if (command == "prepare")
      prepare(operand);
    else if (command == "check")
      check();
    else if (command == "run")
      run(std::stoll(operand));
    else if (command == "memory")
      out_ << '\t' << side_.peak_memory() << '\t' << peak_resident();
    else
      throw std::invalid_argument("there is no command '" + line + "'");
    return "ok" + out_.str();
  }

 private:
  // VmHWM of proc(5), which is in KiB.
  static int64_t peak_resident() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      int64_t kibibytes;
      if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
    }
    throw std::runtime_error("there is no VmHWM in /proc/self/status");
  }

  void list() {
    out_ << '\t' << side_.rows.size();
    for (const Row& row : side_.rows)
      out_ << '\n'
           << row.name << '\t' << row.bytes_read << '\t' << row.bytes_written << '\t' << row.flops << '\t' << row.parts
           << '\t' << row.tolerance;
  }

  void prepare(const std::string& name) {
    const auto row = std::find_if(side_.rows.begin(), side_.rows.end(), [&](const Row& r) { return r.name == name; });
    if (row == side_.rows.end()) throw std::invalid_argument("there is no row '" + name + "'");
    work_.reset();
    side_.release_memory();
    work_ = row->prepare();
  }

  Work& work() {
    if (!work_) throw std::logic_error("no row has been prepared");
    return *work_;
  }

  void check() {
    for (const Digest& d : work().check()) out_ << '\t' << d.count << '\t' << d.sum << '\t' << d.scale;
  }

  void run(int64_t times) {
    using Clock = std::chrono::steady_clock;
    Work& repeated = work();
    const std::clock_t processor_start = std::clock();
    const Clock::time_point start = Clock::now();
    repeated.repeat(times);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    out_ << '\t' << seconds << '\t' << static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  }

  Side side_;
  std::optional<Work> work_;
  std::ostringstream out_ = [] {
    std::ostringstream out;
    out << std::setprecision(std::numeric_limits<double>::max_digits10);
    return out;
  }();
};

std::string in_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

}  // namespace

int serve(Side side, int argc, char** argv) {
  const std::string kThreads = "--threads=";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(kThreads, 0) == 0) {
      side.set_num_threads(std::stoi(argument.substr(kThreads.size())));
    } else if (argument == "--count_memory") {
      side.count_memory();
    } else {
      std::cerr << argv[0] << ": unknown argument " << argument << "\n";
      return 2;
    }
  }
  std::cout << "ok\t" << side.version << std::endl;
  Worker worker(std::move(side));
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << worker.answer(line) << std::endl;
    } catch (const std::exception& e) {
      std::cout << "error\t" << in_one_line(e.what()) << std::endl;
    }
  }
  return 0;
}

}  // namespace vellum::benchmarks
