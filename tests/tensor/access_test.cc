// Reading and writing elements, names, versions, borrowed memory.

#include <gmock/gmock.h>

#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using ::testing::HasSubstr;

template <typename E, typename F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "did not throw";
}

TEST(Data, IsTypedAndStartsAtTheFirstElement) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  EXPECT_EQ(x.data<float>()[2], 3);
  EXPECT_EQ(x.slice(0, 1).data<float>()[0], 2);
}

TEST(Data, OfAnotherTypeIsRefusedNamingBoth) {
  const Tensor x = tensor({1.f});
  EXPECT_THAT(message<DTypeError>([&] { x.data<double>(); }), HasSubstr("data<float64>: the tensor float32[1]"));
}

TEST(Data, OfADeviceThatTheHostCannotReachIsRefused) {
  EXPECT_THAT(message<DeviceError>([] { tensor({1.f}, Device("sim")).data<float>(); }),
              HasSubstr("copy it with cpu()"));
  EXPECT_THROW(empty({1}, Device("meta")).data<float>(), DeviceError);
}

TEST(MutableData, CountsAsAWrite) {
  Tensor x = tensor({1.f, 2.f});
  const uint32_t before = x.version();
  x.mutable_data<float>()[0] = 5;
  EXPECT_EQ(x.version(), before + 1);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({5, 2}));
  EXPECT_THROW(x.mutable_data<int64_t>(), DTypeError);
  EXPECT_EQ(x.version(), before + 1);
}

TEST(Item, ConvertsTheOnlyElement) {
  EXPECT_EQ(scalar_tensor(2.5).item(), 2.5);
  EXPECT_EQ(tensor({2.5f}).view({1, 1}).item<int>(), 2);
  EXPECT_EQ(tensor<int64_t>({(int64_t{1} << 60) + 1}).item<int64_t>(), (int64_t{1} << 60) + 1);
  EXPECT_EQ(tensor<complex64>({{1, 2}}).item<complex128>(), complex128(1, 2));
  EXPECT_TRUE(tensor({true}).item<bool>());
  EXPECT_EQ(tensor({1.f, 7.f}, Device("sim"))[1].item<float>(), 7);
}

TEST(Item, NeedsExactlyOneElement) {
  EXPECT_THROW(tensor({1.f, 2.f}).item(), InvalidArgumentError);
  EXPECT_THROW(zeros({0}).item(), InvalidArgumentError);
}

TEST(ToVector, IsRowMajorWhateverTheStrides) {
  EXPECT_EQ(arange(6).view({2, 3}).t().to_vector<int>(), std::vector<int>({0, 3, 1, 4, 2, 5}));
}

TEST(Undefined, ThrowsOnUse) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_THROW(none.shape(), InvalidArgumentError);
  EXPECT_THROW(none.add(tensor({1.f})), InvalidArgumentError);
  EXPECT_THROW(add(tensor({1.f}), none), InvalidArgumentError);
}

TEST(Name, BelongsToTheTensorThatAllHandlesShare) {
  Tensor x = zeros({2});
  const Tensor other = x;
  EXPECT_EQ(x.name(), "");
  x.set_name("weight");
  EXPECT_EQ(other.name(), "weight");
  EXPECT_EQ(x.clone().name(), "");
}

TEST(Size, TakesNegativeDimensions) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_EQ(x.stride(-2), 3);
  EXPECT_THROW(x.size(2), IndexError);
  EXPECT_THROW(scalar_tensor(1).size(0), IndexError);
  EXPECT_EQ(x.nbytes(), 24);
}

TEST(Factories, FillWithWhatTheySay) {
  EXPECT_EQ(full({2}, 7).dtype(), kInt64);
  EXPECT_EQ(full({2}, 7.5).dtype(), kFloat32);
  EXPECT_EQ(full({2}, 7, kUInt8).to_vector<int>(), std::vector<int>({7, 7}));
  EXPECT_EQ(zeros({}).dim(), 0);
  EXPECT_EQ(ones_like(full({2}, 3)).to_vector<int>(), std::vector<int>({1, 1}));
  EXPECT_EQ(arange(3).dtype(), kInt64);
  EXPECT_EQ(tensor({0.5, 1.5}).dtype(), kFloat32);  // as PyTorch makes of Python's numbers
  EXPECT_THROW(full({2}, complex64(1, 1), kFloat32), DTypeError);
  EXPECT_THROW(zeros({-1}), ShapeError);
  EXPECT_THROW(arange(-1), InvalidArgumentError);
  EXPECT_THROW(tensor(std::span<const float>(), {2}), ShapeError);
}

TEST(Factories, TruncateTheBoundsOfAnInt64RangeFirst) {
  EXPECT_EQ(arange(3.1, kInt64).to_vector<int>(), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(arange(3.1).to_vector<int>(), std::vector<int>({0, 1, 2, 3}));
  EXPECT_THROW(arange(0, 3, 0.5, kInt64), InvalidArgumentError);
}

TEST(FromBlob, BorrowsAndTellsWhenItIsDone) {
  float memory[] = {1, 2, 3, 4};
  bool done = false;
  {
    Tensor x = from_blob(
        memory, {2, 2}, kFloat32, [](void* flag) { *static_cast<bool*>(flag) = true; }, &done);
    const Tensor row = x[1];
    x.mul_(Scalar(10));
    x.reset();
    EXPECT_FALSE(done);
    EXPECT_EQ(row.to_vector<float>(), std::vector<float>({30, 40}));
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(memory[0], 10);
  EXPECT_THROW(from_blob(nullptr, {2}, kFloat32), InvalidArgumentError);
}

}  // namespace
}  // namespace vellum
