#include "vellum/allocator/caching_options.h"

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/error.h"
#include "vellum/tests/allocator/stream_program.h"

namespace vellum::testing {
namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CachingOptions, AreReadFromText) {
  const CachingOptions options = parse_caching_options(
      "max_split_size:64MiB,memory_limit:3GiB,garbage_collection_threshold:0.75,extendable_segments:false,"
      "thread_cache_bytes:512KiB");
  EXPECT_EQ(options.max_split_size, 64 * kMiB);
  EXPECT_EQ(options.memory_limit, 3072 * kMiB);
  EXPECT_EQ(options.garbage_collection_threshold, 0.75);
  EXPECT_FALSE(options.extendable_segments);
  EXPECT_EQ(options.thread_cache_bytes, 512 * kKiB);
  EXPECT_EQ(parse_caching_options("memory_limit:12345").memory_limit, 12345u);
}

TEST(CachingOptions, WhatIsNotGivenStaysAsItWas) {
  const CachingOptions options = parse_caching_options("", {.host_accessible = false, .thread_cache_bytes = 7});
  EXPECT_FALSE(options.host_accessible);
  EXPECT_EQ(options.thread_cache_bytes, 7u);
  EXPECT_TRUE(options.extendable_segments);
  EXPECT_EQ(options.max_split_size, CachingOptions::kUnlimited);
}

TEST(CachingOptions, ErrorsNameTheOptionAndTheMend) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row table[] = {
      {"max_split:5MiB",
       "caching allocator: unknown option 'max_split'; choose among extendable_segments, garbage_collection_threshold, "
       "max_split_size, memory_limit, thread_cache_bytes"},
      {"memory_limit", "caching allocator: 'memory_limit' is not of the form key:value"},
      {"memory_limit:1GiB,", "nothing was thrown"},
      {"memory_limit:", "caching allocator: 'memory_limit:' is not of the form key:value"},
      {"memory_limit:5MB",
       "caching allocator: option 'memory_limit' cannot be '5MB'; give bytes, such as 67108864 or "
       "64MiB"},
      {"memory_limit:-5",
       "caching allocator: option 'memory_limit' cannot be '-5'; give bytes, such as 67108864 or "
       "64MiB"},
      {"memory_limit:99999999999GiB",
       "caching allocator: option 'memory_limit' cannot be '99999999999GiB'; give "
       "bytes, such as 67108864 or 64MiB"},
      {"memory_limit:0", "caching allocator: option 'memory_limit' cannot be '0'; leave it out for no limit"},
      {"extendable_segments:yes",
       "caching allocator: option 'extendable_segments' cannot be 'yes'; give true or "
       "false"},
      {"max_split_size:20MiB",
       "caching allocator: option 'max_split_size' cannot be '20971520'; it must be more than "
       "20 MiB (20971520)"},
      {"memory_limit:1GiB,garbage_collection_threshold:nan",
       "caching allocator: option 'garbage_collection_threshold' cannot be 'nan'; it is a fraction of memory_limit, "
       "from 0 to 1"},
      {"memory_limit:1GiB,garbage_collection_threshold:1/2",
       "caching allocator: option 'garbage_collection_threshold' cannot be '1/2'; give a fraction such as 0.8"},
      {"garbage_collection_threshold:0.8",
       "caching allocator: option 'garbage_collection_threshold' is a fraction of 'memory_limit', which is not given; "
       "add memory_limit, or leave both out"},
      {"memory_limit:1GiB,memory_limit:2GiB", "caching allocator: option 'memory_limit' is given twice"},
  };
  for (const Row& row : table) EXPECT_EQ(message_of([&] { parse_caching_options(row.text); }), row.message) << row.text;
}

TEST(CachingOptions, AreCheckedWhereverTheyComeFrom) {
  const auto make = [] {
    CachingAllocator(std::make_unique<SimulatedMemory>(nullptr, nullptr, false, 0), {.max_split_size = 5});
  };
  EXPECT_THROW(make(), InvalidArgumentError);
}

const DeviceApi api{.device_count = []() noexcept { return 1; }};

TEST(CachingOptions, TheEnvironmentGivesThem) {
  const Device device(register_device("options", api));
  setenv("VELLUM_CACHING_OPTIONS", "memory_limit:64MiB", 1);
  EXPECT_EQ(make_strategy("caching", device)->stats().limit, static_cast<int64_t>(64 * kMiB));
  setenv("VELLUM_CACHING_OPTIONS", "memory_limit:none", 1);
  EXPECT_EQ(message_of([&] { make_strategy("caching", device); }),
            "VELLUM_CACHING_OPTIONS: caching allocator: option 'memory_limit' cannot be 'none'; give bytes, such as "
            "67108864 or 64MiB");
  unsetenv("VELLUM_CACHING_OPTIONS");
  EXPECT_EQ(make_strategy("caching", device)->stats().limit, -1);  // none
}

// Options one by one, each with what it needs to be valid.
struct Choice {
  const char* name;
  void (*apply)(StreamProgram::Setting&);
};
constexpr Choice kChoices[] = {
    {"segments", [](StreamProgram::Setting& s) { s.options.extendable_segments = false; }},
    {"pages", [](StreamProgram::Setting& s) { s.options.extendable_segments = true; }},
    {"max_split_size", [](StreamProgram::Setting& s) { s.options.max_split_size = 24 * kMiB; }},
    {"memory_limit", [](StreamProgram::Setting& s) { s.options.memory_limit = 150 * kMiB; }},
    {"garbage_collection",
     [](StreamProgram::Setting& s) {
       s.options.memory_limit = 150 * kMiB;
       s.options.garbage_collection_threshold = 0.6;
     }},
    {"thread_cache", [](StreamProgram::Setting& s) { s.options.thread_cache_bytes = 3 * kMiB; }},
    {"small_device", [](StreamProgram::Setting& s) { s.limit = 100 * kMiB; }},
    {"immediate", [](StreamProgram::Setting& s) { s.events = false; }},
};

// Returns the first fault.
std::string run_trace(const StreamProgram::Setting& setting, unsigned seed) {
  static constexpr size_t kBytes[] = {64,        3000,      100 * kKiB, kMiB,      2 * kMiB,
                                      11 * kMiB, 23 * kMiB, 40 * kMiB,  70 * kMiB, 300 * kKiB};
  std::mt19937 random(seed);
  StreamProgram program(setting);
  const StreamHandle streams = setting.events ? 3 : 1;
  for (int i = 0; i < 4000 && program.fault().empty(); ++i) {
    const unsigned choice = random() % 100;
    const size_t held = program.held().size();
    if (choice == 0) {
      program.empty_cache();
    } else if (choice < 40) {
      program.advance(random() % streams);
    } else if (choice < 65 && held < 12) {
      program.allocate(random() % streams, kBytes[random() % std::size(kBytes)]);
    } else if (choice < 80 && held > 0) {
      program.use(random() % held, random() % streams);
    } else if (held > 0) {
      program.free(random() % held);
    }
  }
  return program.fault();
}

// pytorch/pytorch#123548: two options together took a wrong path of release.
TEST(CachingOptions, EveryPairKeepsTheListsInOrder) {
  for (const Choice& first : kChoices)
    for (const Choice& second : kChoices) {
      if (&second < &first) continue;
      StreamProgram::Setting setting;
      setting.pages = true;
      setting.check_reuse = false;  // which collection and oversize blocks do not promise
      setting.options.extendable_segments = false;
      first.apply(setting);
      second.apply(setting);
      for (unsigned seed = 1; seed <= 3; ++seed)
        EXPECT_EQ(run_trace(setting, seed), "") << first.name << " with " << second.name << ", seed " << seed;
    }
}

}  // namespace
}  // namespace vellum::testing
