#ifndef VELLUM_PROFILER_INTERNAL_REPORT_H_
#define VELLUM_PROFILER_INTERNAL_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "vellum/profiler/internal/session.h"

namespace vellum::internal {

// Those that were called, in no order. The session has ended, here and below.
std::vector<OperatorProfile> operator_profiles(const ProfilerSession& session);
std::vector<ModuleProfile> module_profiles(const ProfilerSession& session);

// Equal ones in the order of their names.
void sort_profiles(std::vector<OperatorProfile>* list, ProfilerSort by);
void sort_profiles(std::vector<ModuleProfile>* list, ProfilerSort by);

std::string profile_table(const ProfilerSession& session, const ProfilerTableOptions& options);

void write_trace(const ProfilerSession& session, const std::string& path);

// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string* json, std::string_view text);

}  // namespace vellum::internal

#endif  // VELLUM_PROFILER_INTERNAL_REPORT_H_
