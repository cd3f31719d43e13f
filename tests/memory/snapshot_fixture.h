#ifndef VELLUM_TESTS_MEMORY_SNAPSHOT_FIXTURE_H_
#define VELLUM_TESTS_MEMORY_SNAPSHOT_FIXTURE_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"
#include "vellum/memory/snapshot.h"

namespace vellum::testing {

// Reads snapshots as they are written. Ends the recording and removes the file.
class SnapshotFixture : public ::testing::Test {
 protected:
  ~SnapshotFixture() override {
    stop_memory_recording();
    std::filesystem::remove(path_);
  }

  nlohmann::json take() {
    memory_snapshot(path_);
    std::ifstream file(path_);
    return nlohmann::json::parse(file);
  }

  const std::string path_ = ::testing::TempDir() + "/snapshot_" + std::to_string(getpid()) + ".json";
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_MEMORY_SNAPSHOT_FIXTURE_H_
