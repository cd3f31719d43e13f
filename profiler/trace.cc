#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

#include "vellum/device/atomic_file.h"
#include "vellum/device/error.h"
#include "vellum/profiler/internal/report.h"
#include "vellum/tensor/dtype.h"

namespace vellum::internal {
namespace {

constexpr size_t kWriteAtOnce = size_t{1} << 20;  // bytes

// Length of the UTF-8 sequence that `text` starts with (RFC 3629); 0 when it is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0), second = byte(1);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f, beyond = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

void append_ascii(std::string* json, char c) {
  if (c == '"' || c == '\\') {
    *json += '\\';
    *json += c;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
    *json += escape;
  } else {
    *json += c;
  }
}

// Microseconds. The rest after the point is exact, so that what nests in nanoseconds nests in the trace.
std::string microseconds(int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text;
}

const char* category(Annotation::Kind kind) {
  switch (kind) {
    case Annotation::Kind::kModule:
      return "module";
    case Annotation::Kind::kOperator:
      return "operator";
    case Annotation::Kind::kUser:
      return "user";
    case Annotation::Kind::kBackward:
      return "backward";
  }
  return "";
}

// `,"dtypes":["float32"],"shapes":[[2,3]]` from what encode_shapes() made; null for operands that are undefined.
std::string decode_shapes(std::string_view code) {
  std::string dtypes, shapes;
  while (!code.empty()) {
    const DType dtype = static_cast<DType>(code[0]);
    const size_t rank = static_cast<unsigned char>(code[1]);
    code.remove_prefix(2);
    std::string sizes;
    for (size_t d = 0; d < rank; ++d) {
      int64_t size;
      std::memcpy(&size, code.data() + d * sizeof size, sizeof size);
      sizes += (d ? "," : "") + std::to_string(size);
    }
    code.remove_prefix(rank * sizeof(int64_t));
    const bool defined = dtype != DType::kUndefined;
    const char* comma = dtypes.empty() ? "" : ",";
    dtypes += comma + (defined ? '"' + std::string(dtype_name(dtype)) + '"' : "null");
    shapes += comma + (defined ? '[' + sizes + ']' : "null");
  }
  return ",\"dtypes\":[" + dtypes + "],\"shapes\":[" + shapes + "]";
}

// "pid":1,"tid":2
std::string place(uint32_t thread) { return str_cat("\"pid\":", getpid(), ",\"tid\":", thread); }

std::string event_json(const ProfilerSession& session, const Event& event) {
  const ProfilerSession::Name& name = session.name_of(event.name);
  std::string json = "{\"ph\":\"X\",\"name\":";
  append_json_string(&json, name.kind == Annotation::Kind::kModule ? module_path(event.module) : name.text);
  json += str_cat(",\"cat\":\"", category(name.kind), "\",", place(event.thread),
                  ",\"ts\":", microseconds(event.start - session.start()), ",\"dur\":", microseconds(event.duration),
                  ",\"args\":{\"bytes\":", event.bytes, ",\"module\":");
  append_json_string(&json, module_path(event.module));
  if (event.shapes) json += decode_shapes(session.shapes_of(event.shapes));
  return json + "}}";
}

// Outer calls before those in them, as viewers want calls that start at one time.
std::vector<const Event*> in_order(const Recording& recording) {
  std::vector<const Event*> events;
  events.reserve(recording.events.size());
  for (const Event& e : recording.events) events.push_back(&e);
  std::sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
    if (a->thread != b->thread) return a->thread < b->thread;
    return a->start != b->start ? a->start < b->start : a->depth < b->depth;
  });
  return events;
}

void write_json(const ProfilerSession& session, AtomicFile& file) {
  const Recording& recording = session.recording();
  std::ostringstream out;
  out << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_events\":" << recording.dropped
      << ",\"unfinished_threads\":" << session.unfinished_threads() << "},\"traceEvents\":[\n";
  for (uint32_t thread = 1; thread <= session.threads(); ++thread)
    out << (thread > 1 ? ",\n" : "") << "{\"ph\":\"M\",\"name\":\"thread_name\"," << place(thread)
        << ",\"args\":{\"name\":\"" << (thread == 1 ? "profiler's thread" : "thread " + std::to_string(thread))
        << "\"}}";
  for (const Event* event : in_order(recording)) {
    out << ",\n" << event_json(session, *event);
    if (out.view().size() < kWriteAtOnce) continue;
    file.write(out.view());
    out.str(std::string());
  }
  out << "\n]}\n";
  file.write(out.view());
}

}  // namespace

void append_json_string(std::string* json, std::string_view text) {
  *json += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0)
      *json += "\\ufffd";
    else if (length == 1)
      append_ascii(json, text[0]);
    else
      *json += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  *json += '"';
}

void write_trace(const ProfilerSession& session, const std::string& path) {
  AtomicFile file(path);
  write_json(session, file);
  file.commit();
}

}  // namespace vellum::internal
