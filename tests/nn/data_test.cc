#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vellum/nn/data/data_loader.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/nn/testing.h"

namespace vellum::data {
namespace {

using namespace vellum::testing;

// Row i is (i, 10 i), its target i.
TensorDataset numbered(int64_t rows) {
  const Tensor i = arange(rows);
  return TensorDataset((i.unsqueeze(1) * tensor({int64_t{1}, int64_t{10}})).to(kFloat32), i);
}

std::vector<std::vector<int64_t>> epoch_of(DataLoader& loader) {
  std::vector<std::vector<int64_t>> batches;
  for (const Batch& batch : loader) batches.push_back(batch.target.to_vector<int64_t>());
  return batches;
}

std::vector<int64_t> flattened(const std::vector<std::vector<int64_t>>& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(TensorDataset, SelectsTheSameRowsOfAllTensors) {
  const TensorDataset dataset(arange(3).view({3, 1}), arange(3), arange(6).view({3, 2}), ones({3}));
  EXPECT_EQ(dataset.size(), 3);
  const Batch batch = dataset.select(tensor({int64_t{2}, int64_t{0}}));
  EXPECT_EQ(batch.data.shape(), (Dims{2, 1}));
  EXPECT_THAT(values(batch.data), ElementsAre(2, 0));
  EXPECT_THAT(values(batch.target), ElementsAre(2, 0));
  ASSERT_EQ(batch.more.size(), 2);
  EXPECT_THAT(values(batch.more[0]), ElementsAre(4, 5, 0, 1));
}

TEST(TensorDataset, MayHaveNoTargets) { EXPECT_FALSE(TensorDataset(ones({2, 2})).select(arange(1)).target.defined()); }

TEST(TensorDataset, RejectsTensorsThatDoNotGoTogether) {
  EXPECT_THAT(message_of<ShapeError>([] { TensorDataset(ones({3, 2}), ones({4})); }), HasSubstr("(3 != 4)"));
  EXPECT_THROW(TensorDataset(ones({})), ShapeError);
  EXPECT_THROW(TensorDataset(ones({1}), Tensor()), InvalidArgumentError);
  EXPECT_THROW(TensorDataset(std::vector<Tensor>()), InvalidArgumentError);
}

TEST(DataLoader, GoesThroughTheSamplesInOrder) {
  DataLoader loader(numbered(5), {.batch_size = 2});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_THAT(epoch_of(loader), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST(DataLoader, KeepsDataAndTargetTogether) {
  DataLoader loader(numbered(7), {.batch_size = 3, .shuffle = true});
  for (const auto& [data, target, more] : loader) {
    EXPECT_EQ(values(data.select(1, 0)), values(target));
    EXPECT_EQ(values(data.select(1, 1)), values(target * 10));
  }
}

TEST(DataLoader, DropsALastBatchThatIsNotFull) {
  DataLoader loader(numbered(5), {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(loader.size(), 2);
  EXPECT_THAT(epoch_of(loader), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(DataLoader(numbered(4), {.batch_size = 2, .drop_last = true}).size(), 2);
  EXPECT_EQ(DataLoader(numbered(4), {.batch_size = 5, .drop_last = true}).size(), 0);
}

TEST(DataLoader, ShufflesEachEpochAnewWithoutLosingASample) {
  DataLoader loader(numbered(50), {.batch_size = 8, .shuffle = true});
  std::vector<int64_t> first = flattened(epoch_of(loader)), second = flattened(epoch_of(loader));
  EXPECT_NE(first, second);
  EXPECT_EQ(loader.epoch(), 2);
  const std::vector<int64_t> all = arange(50).to_vector<int64_t>();
  EXPECT_NE(first, all);
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(DataLoader, ShufflesByItsSeedAlone) {
  const DataLoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 5};
  DataLoader first(numbered(50), options), second(numbered(50), options);
  manual_seed(1);
  const auto epoch1 = epoch_of(first), epoch2 = epoch_of(first);
  manual_seed(2);
  EXPECT_EQ(epoch_of(second), epoch1);
  EXPECT_EQ(epoch_of(second), epoch2);
  DataLoader other(numbered(50), {.batch_size = 8, .shuffle = true, .seed = 6});
  EXPECT_NE(epoch_of(other), epoch1);
}

TEST(DataLoader, LeavesTheDefaultGeneratorAlone) {
  manual_seed(3);
  const Tensor expected = rand({4});
  manual_seed(3);
  DataLoader loader(numbered(50), {.batch_size = 8, .shuffle = true});
  epoch_of(loader);
  EXPECT_EQ(values(rand({4})), values(expected));
}

// Each of the six orders of three samples comes up about as often.
TEST(DataLoader, PrefersNoOrder) {
  DataLoader loader(numbered(3), {.batch_size = 3, .shuffle = true});
  std::vector<int> counts(27);
  for (int i = 0; i < 1200; ++i) {
    const std::vector<int64_t> order = epoch_of(loader)[0];
    ++counts[order[0] * 9 + order[1] * 3 + order[2]];
  }
  for (const int order : {5, 7, 11, 15, 19, 21}) EXPECT_NEAR(counts[order], 200, 60) << order;
}

TEST(DataLoader, HoldsOneBatchAtATimeAndCopiesIt) {
  const int64_t before = live_bytes();
  {
    const Tensor data = zeros({64, 256});
    DataLoader loader(TensorDataset(data), {.batch_size = 16});
    const int64_t held = live_bytes();
    for (Batch batch : loader) {
      EXPECT_LT(live_bytes() - held, 2 * batch.data.nbytes());
      batch.data.fill_(1);
    }
    EXPECT_EQ(data.sum().item(), 0);
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST(DataLoader, OfNothingHasNoBatches) {
  DataLoader loader(numbered(0), {.batch_size = 2, .shuffle = true});
  EXPECT_EQ(loader.size(), 0);
  EXPECT_TRUE(epoch_of(loader).empty());
}

TEST(DataLoader, RejectsABatchSizeThatIsNotPositive) {
  EXPECT_THAT(message_of<InvalidArgumentError>([] { DataLoader(numbered(2), {.batch_size = 0}); }),
              HasSubstr("batch_size must be positive, it is 0"));
  EXPECT_THROW(DataLoader(numbered(2), {.batch_size = -3}), InvalidArgumentError);
}

TEST(DataLoader, PinsItsBatches) {
  DataLoader loader(numbered(5), {.batch_size = 2, .pin_memory = true});
  for (const Batch& batch : loader) {
    EXPECT_TRUE(batch.data.is_pinned());
    EXPECT_TRUE(batch.target.is_pinned());
    EXPECT_EQ(values(batch.data.select(1, 0)), values(batch.target));
  }
  DataLoader without_targets(TensorDataset(ones({2, 2})), {.pin_memory = true});
  EXPECT_FALSE(without_targets.begin()->target.defined());
  DataLoader unpinned(numbered(2));
  EXPECT_FALSE(unpinned.begin()->data.is_pinned());
}

// Batches of a type of the standard library: the indices, and each as a text.
struct Pairs {
  using Batch = std::pair<std::map<std::string, Tensor>, std::vector<std::tuple<Tensor, int>>>;
  int64_t size() const { return 4; }
  Batch select(const Tensor& indices) const { return {{{"x", indices * 2}}, {{indices, 3}}}; }
};

TEST(DataLoader, PinsEveryTensorOfABatchOfTheStandardLibrary) {
  BasicDataLoader loader(Pairs(), {.batch_size = 2, .pin_memory = true});
  const Pairs::Batch batch = *loader.begin();
  EXPECT_TRUE(batch.first.at("x").is_pinned());
  EXPECT_TRUE(std::get<0>(batch.second[0]).is_pinned());
  EXPECT_EQ(std::get<1>(batch.second[0]), 3);
  EXPECT_THAT(values(batch.first.at("x")), ElementsAre(0, 2));
}

}  // namespace
}  // namespace vellum::data

// ultralytics/yolov3#1713: batches of a type that the loader does not know went unpinned in silence.
namespace strangers {

struct Unpinnable {
  vellum::Tensor data;
};
static_assert(!vellum::data::Pinnable<Unpinnable>);

struct Graph {
  vellum::Tensor nodes, edges;
};
Graph pin_memory(const Graph& batch, vellum::Device device) {
  return {batch.nodes.pin_memory(device), batch.edges.pin_memory(device)};
}
static_assert(vellum::data::Pinnable<Graph>);

struct Graphs {
  int64_t size() const { return 3; }
  Graph select(const vellum::Tensor& indices) const { return {indices, indices + 1}; }
};

TEST(DataLoader, PinsBatchesOfAUsersOwnType) {
  vellum::data::BasicDataLoader loader(Graphs(), {.batch_size = 3, .pin_memory = true});
  EXPECT_TRUE(loader.begin()->nodes.is_pinned());
  EXPECT_TRUE(loader.begin()->edges.is_pinned());
}

}  // namespace strangers
