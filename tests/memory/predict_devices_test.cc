// Dry runs of other devices than the CPU: one that has no kernels, so that all is done by copies and on the host, and
// one that has no memory.

#include <memory>
#include <thread>
#include <vector>

#include "vellum/allocator/adaptors/adaptor.h"
#include "vellum/tests/memory/predict_testing.h"

namespace vellum {
namespace {

using testing::expect_same;

void train_on(Device device) {
  nn::Linear model(30, 40, {.device = device});
  optim::AdamW optimizer(model.parameters());
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    const Tensor images = ones({20, 30}).to(device);
    cross_entropy(model(images), zeros({20}, {kInt64, device})).backward();
    optimizer.step();
  }
}

TEST(PredictOnDevice, WithoutKernelsIsExact) {
  const Device bare("bare:1");
  const auto program = [bare] { train_on(bare); };
  const MemoryPeaks predicted = predict_peak(program, {.device = bare});
  EXPECT_EQ(predicted.device, bare);
  expect_same(predicted, measure_peak(program, {.device = bare}));
}

TEST(PredictOnDevice, TellsOfWhatTheHostNeedsForIt) {
  const auto program = [] { train_on(Device("bare")); };
  const MemoryPeaks predicted = predict_peak(program);
  EXPECT_EQ(predicted.device, Device(kCPU));
  expect_same(predicted, measure_peak(program));
}

TEST(PredictOnDevice, ReadingItsValuesIsRefused) {
  EXPECT_THROW(predict_peak([] { ones({1}, Device("bare")).item(); }), InvalidArgumentError);
  EXPECT_THROW(predict_peak([] { ones({1}, Device("bare")).cpu().data<float>(); }), InvalidArgumentError);
}

TEST(PredictOnDevice, ReadsTensorsFromOutside) {
  const Tensor outside = full({1}, 3, Device("bare"));
  const auto program = [&] {
    EXPECT_EQ(outside.item(), 3);
    EXPECT_EQ(outside.to_vector<int>(), std::vector<int>{3});
  };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(PredictOnDevice, DoesNotCountPinnedMemory) {
  const data::TensorDataset dataset(randn({10, 3}), arange(10));
  const auto program = [&] {
    EXPECT_TRUE(ones({3}).pin_memory().mul_(2).is_pinned());
    data::DataLoader loader(dataset, {.batch_size = 4, .pin_memory = true});
    for (const data::Batch& batch : loader) {
      EXPECT_TRUE(batch.data.is_pinned());
      batch.data.mul(2);
    }
  };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(PredictOnDevice, WithoutPinnedMemoryRefusesIt) {
  EXPECT_THROW(predict_peak([] { ones({3}).pin_memory(Device("meta")); }), NotImplementedError);
}

TEST(PredictOnDevice, CopiesBetweenDevicesAreLeftOut) {
  const auto program = [] { ones({10}, Device("bare:0")).t().to(Device("bare:1")).cpu(); };
  expect_same(predict_peak(program), measure_peak(program));
}

TEST(PredictOnDevice, WithoutMemoryIsExact) {
  const Device meta("meta");
  const auto program = [meta] { train_on(meta); };
  expect_same(predict_peak(program, {.device = meta}), measure_peak(program, {.device = meta}));
}

// Notes the streams that it is told to release.
class Hearing final : public Adaptor {
 public:
  // Of each one made, in their order.
  static std::vector<std::vector<StreamHandle>>& heard() {
    static auto& all = *new std::vector<std::vector<StreamHandle>>;  // a pool with a tensor in it stays
    return all;
  }
  explicit Hearing(Device device) : Adaptor("hearing", make_strategy("caching", device)), number_(heard().size()) {
    heard().emplace_back();
  }
  void release_stream(const Stream& stream) noexcept override {
    heard()[number_].push_back(stream.handle);
    Adaptor::release_stream(stream);
  }

 private:
  const size_t number_;
};

// Else a later event would be recorded on a stream that is no more.
TEST(MeasureOnDevice, EveryAllocatorHearsOfAStreamThatEnds) {
  const Device device("sim");
  PredictOptions options{.device = device};
  options.make_strategy = [](Device memory) -> std::unique_ptr<Allocator> { return std::make_unique<Hearing>(memory); };
  const Stream first = create_stream(device), second = create_stream(device);
  Tensor left;
  measure_peak(
      [&] {
        measure_peak([&] { std::thread([&] { destroy_stream(first); }).join(); }, options);
        left = ones({10}, device);
      },
      options);
  destroy_stream(second);
  const std::vector<StreamHandle> outer{first.handle, second.handle}, inner{first.handle};
  EXPECT_EQ(Hearing::heard(), (std::vector{outer, inner}));
}

TEST(PredictOnDevice, ThatDoesNotExistIsRefused) {
  EXPECT_THROW(predict_peak([] {}, {.device = Device(Device("bare").type, 7)}), DeviceError);
}

}  // namespace
}  // namespace vellum
