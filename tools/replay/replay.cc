#include "vellum/tools/replay/replay.h"

#include <algorithm>
#include <filesystem>

#include "vellum/device/error.h"

namespace vellum::replay {
namespace {

namespace fs = std::filesystem;

bool is_case_file(const fs::directory_entry& entry) {
  return entry.is_regular_file() && entry.path().extension() == ".safetensors";
}

void run_one(const Case& c, const Options& options, KnownDifferences& known, Report& report) {
  const Outcome outcome = run_case(c, options.device);
  const auto differs = [&](const Tolerance* wider) {
    return (wider ? run_case(c, options.device, wider).verdict : outcome.verdict) == Verdict::kFailed;
  };
  const bool ran = outcome.verdict != Verdict::kUnsupported;
  if (const KnownDifference* explanation = ran ? known.judge(c, differs) : nullptr)
    report.add_known_difference(c.label(), explanation->reason);
  else
    report.add(c.label(), c.name, outcome);
}

void run_file(const std::string& path, const Options& options, KnownDifferences& known, Report& report) {
  const CaseFile file(path);
  for (size_t i = 0; i < file.size(); ++i) {
    const std::string label = file.label(i);
    if (options.wanted && !options.wanted(label)) continue;
    try {
      run_one(file.load(i), options, known, report);
    } catch (const DTypeError& e) {  // of a tensor that the library cannot hold
      report.add(label, file.name(i), {Verdict::kUnsupported, e.what()});
    } catch (const std::exception& e) {
      report.add(label, file.name(i), {Verdict::kFailed, e.what()});
    }
  }
}

}  // namespace

std::vector<std::string> find_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (!fs::exists(path, error)) throw_error<IoError>(path, ": there is no such file or folder");
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
      if (is_case_file(entry)) files.push_back(entry.path().string());
    if (files.size() == before) throw_error<IoError>(path, ": holds no .safetensors file");
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

Report replay(const std::vector<std::string>& files, const Options& options, KnownDifferences& known) {
  Report report;
  for (size_t i = 0; i < files.size(); ++i) {
    if (options.progress) options.progress(i, files.size(), files[i]);
    try {
      run_file(files[i], options, known, report);
    } catch (const std::exception& e) {
      const std::string name = fs::path(files[i]).filename().string();
      report.add(name, name, {Verdict::kFailed, e.what()});
    }
  }
  return report;
}

}  // namespace vellum::replay
