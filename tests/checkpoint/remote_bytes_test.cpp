#include "attnscope/checkpoint/remote_bytes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope {
namespace {

/// Returns the bytes of a text, counts them, and fails on request.
class TextSource : public RangeSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}

  void read(std::uint64_t offset, std::span<std::byte> out) override {
    const int now = ++at_once_;
    for (int most = most_at_once; most < now && !most_at_once.compare_exchange_weak(most, now);) {
    }
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --at_once_;
    if (failures > 0 && failures-- > 0) throw Error(ErrorKind::io, "far", "is out of reach");
    given += out.size();
    ++requests;
    std::memcpy(out.data(), text_.data() + offset, out.size());
  }

  std::atomic<std::uint64_t> given = 0;
  std::atomic<int> most_at_once = 0, failures = 0, requests = 0;
  bool slow = false;

 private:
  std::string text_;
  std::atomic<int> at_once_ = 0;
};

struct RemoteFixture {
  explicit RemoteFixture(const std::string& text)
      : source(std::make_shared<TextSource>(text)),
        remote{"model.safetensors", "far@1/model.safetensors", text.size(), source,
               std::make_shared<Fetcher>()} {}

  std::shared_ptr<TextSource> source;
  RemoteFile remote;
};

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t at = 0; at < size; ++at) text[at] = static_cast<char>(at * 31 + at / 251);
  return text;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(RemoteBytes, FetchesEveryByteOnce) {
  const std::string text = pattern(40'000'000);
  const RemoteFixture fixture(text);
  const MappedFile file(fixture.remote);
  const auto bytes = file.bytes();
  file.need(bytes.subspan(100, 50));
  EXPECT_EQ(fixture.source->given, 50u);
  EXPECT_EQ(text_of(bytes.subspan(100, 50)), std::string_view(text).substr(100, 50));
  file.need(bytes.subspan(120, 100));  // 30 of these are already present
  EXPECT_EQ(fixture.source->given, 120u);
  file.need(bytes.subspan(0, 20'000'000));
  file.need(bytes.subspan(10'000'000, 30'000'000));
  EXPECT_EQ(fixture.source->given, text.size());
  EXPECT_EQ(text_of(bytes), text);
}

TEST(RemoteBytes, FetchesNearbyPartsInOneRequest) {
  const RemoteFixture fixture(pattern(4'000'000));
  const MappedFile file(fixture.remote);
  const auto bytes = file.bytes();
  const auto requests_of = [&](std::size_t each, std::size_t apart) {
    std::vector<std::span<const std::byte>> parts;
    for (int part = 3; part >= 0; --part) {
      parts.push_back(bytes.subspan(static_cast<std::size_t>(part) * apart, each));
    }
    const int before = fixture.source->requests;
    file.need(parts);
    return fixture.source->requests - before;
  };
  EXPECT_EQ(requests_of(100, 1'000'000), 4);
  EXPECT_EQ(fixture.source->given, 400u);
  EXPECT_EQ(requests_of(1000, 10'000), 1);  // all but the first 100 bytes, including the gaps
  EXPECT_EQ(fixture.source->given, 400u + 31'000 - 100);
}

TEST(RemoteBytes, IgnoresBytesOfOtherFiles) {
  const RemoteFixture fixture(pattern(100));
  const MappedFile file(fixture.remote);
  const std::string other = "others";
  file.need(std::as_bytes(std::span(other)));
  file.prefetch(std::as_bytes(std::span(other)));
  file.release(std::as_bytes(std::span(other)));
  EXPECT_EQ(fixture.source->given, 0u);
}

TEST(RemoteBytes, ThreadsAndThePrefetcherShareTheWork) {
  const std::string text = pattern(60'000'000);
  const RemoteFixture fixture(text);
  fixture.source->slow = true;
  const MappedFile file(fixture.remote);
  file.prefetch(file.bytes());
  std::vector<std::thread> threads;
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([&] { file.need(file.bytes()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text_of(file.bytes()), text);
  EXPECT_EQ(fixture.source->given, text.size());
  EXPECT_EQ(fixture.source->most_at_once, Fetcher::kLargeAtOnce);
}

TEST(RemoteBytes, RefetchesReleasedBytes) {
  const std::string text = pattern(1 << 20);
  const RemoteFixture fixture(text);
  const MappedFile file(fixture.remote);
  file.need(file.bytes());
  file.release(file.bytes().subspan(5000, 500'000));
  file.need(file.bytes());
  EXPECT_EQ(text_of(file.bytes()), text);
  EXPECT_GT(fixture.source->given, text.size() + 480'000);
  EXPECT_LE(fixture.source->given, text.size() + 500'000);
}

TEST(RemoteBytes, ReportsAFailureToTheThreadThatNeedsTheBytes) {
  const std::string text = pattern(1000);
  const RemoteFixture fixture(text);
  const MappedFile file(fixture.remote);
  fixture.source->failures = 2;
  file.prefetch(file.bytes());
  while (fixture.source->failures == 2) std::this_thread::yield();
  EXPECT_THROW(file.need(file.bytes()), Error);
  file.need(file.bytes());
  EXPECT_EQ(text_of(file.bytes()), text);
}

TEST(RemoteBytes, DestructorWaitsForRequestsInFlight) {
  const RemoteFixture fixture(pattern(30'000'000));
  fixture.source->slow = true;
  const MappedFile file(fixture.remote);
  file.prefetch(file.bytes());
}

TEST(RemoteBytes, ACheckpointFetchesItsHeaderAndRequestedTensors) {
  const std::string payload = pattern(4'000'000);
  const std::string text =
      test::safetensors_with_header(
          R"({"a":{"dtype":"F32","shape":[500,1000],"data_offsets":[0,2000000]},)"
          R"("b":{"dtype":"F32","shape":[500,1000],"data_offsets":[2000000,4000000]}})",
          0) +
      payload;
  const RemoteFixture fixture(text);
  const Checkpoint checkpoint =
      Checkpoint::open(CheckpointFolder(std::filesystem::temp_directory_path(), {fixture.remote}),
                       "model.safetensors");
  EXPECT_TRUE(checkpoint.is_remote());
  EXPECT_LE(fixture.source->given, 4096u);
  const CheckpointTensor& tensor = *checkpoint.find("b");
  checkpoint.need(tensor);
  EXPECT_LE(fixture.source->given, 2'004'096u);
  EXPECT_EQ(text_of(tensor.view.bytes), std::string_view(payload).substr(2'000'000));
  checkpoint.check_intact(tensor);
}

}  // namespace
}  // namespace attnscope
