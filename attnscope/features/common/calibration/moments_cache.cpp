#include "attnscope/features/common/calibration/moments_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/checkpoint/safetensors.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// The tensor of an input: the lower triangle of its second moments, row by row, then its first
/// moments.
std::string tensor_name(const SecondMomentSums::Site& site) {
  return std::to_string(site.first) + "." + std::string(role_name(site.second));
}

std::int64_t kept_elements(std::int64_t n) { return n * (n + 1) / 2 + n; }

/// Calls `use` for the rows of the triangle, then for the first moments.
template <typename Moments, typename Use>
void for_kept_rows(Moments& moments, const Use& use) {
  for (std::int64_t row = 0; row < moments.size(); ++row) {
    use(std::span(&moments.second(row, 0), static_cast<std::size_t>(row) + 1));
  }
  use(std::span(moments.first));
}

/// Hash over all rows of all inputs and the counts.
class MomentsHash {
 public:
  void add(const SecondMoments& moments) {
    for_kept_rows(
        moments, [&](std::span<const double> row) { hashes_ += content_hash(std::as_bytes(row)); });
  }
  std::string with(std::span<const std::int64_t> counts) const {
    return content_hash(hashes_ + content_hash(std::as_bytes(counts)));
  }

 private:
  std::string hashes_;
};

/// The number of batches, then the number of rows of each input.
constexpr const char* kCounts = "counts";

/// The bytes of a tensor; empty if it has another type or size.
std::span<const std::byte> bytes_of(const FileContents& file, const std::string& name, DType type,
                                    std::int64_t elements) {
  for (const NamedTensor& tensor : file.tensors) {
    const bool fits = tensor.view.dtype == type && tensor.view.shape == Shape{elements};
    if (tensor.name == name) return fits ? tensor.view.bytes : std::span<const std::byte>();
  }
  return {};
}

SecondMoments read_moments(std::span<const std::byte> bytes, std::int64_t n, std::int64_t rows) {
  SecondMoments moments{.rows = rows,
                        .second = Matrix<double>(n, n),
                        .first = std::vector<double>(static_cast<std::size_t>(n))};
  std::fill_n(moments.second.data(), n * n, 0.0);
  for_kept_rows(moments, [&](std::span<double> row) {
    std::memcpy(row.data(), bytes.data(), row.size_bytes());
    bytes = bytes.subspan(row.size_bytes());
  });
  return moments;
}

}  // namespace

MomentsCache::MomentsCache(const fs::path& made, const std::string& key, double share)
    : files_(made, "attnscope-moments", key), share_(share) {}

std::size_t MomentsCache::take(const std::string& name, SecondMomentSums& sums) {
  last_ = Clock::now();
  const fs::path path = files_.path_of(name);
  std::error_code failed;
  if (!fs::exists(path, failed)) return 0;
  try {
    const MappedFile file(path);
    const FileContents contents = read_safetensors(file, path.string());
    const std::vector<SecondMomentSums::Site> sites = sums.sites();
    std::vector<std::int64_t> counts(sites.size() + 1);
    const auto kept_counts = bytes_of(contents, kCounts, DType::i64, std::ssize(counts));
    if (kept_counts.empty()) return 0;
    std::memcpy(counts.data(), kept_counts.data(), kept_counts.size());
    std::vector<SecondMoments> found;
    MomentsHash hash;
    for (std::size_t at = 0; at < sites.size(); ++at) {
      const std::int64_t n = sums.of(sites[at].first, sites[at].second).size();
      const auto bytes = bytes_of(contents, tensor_name(sites[at]), DType::f64, kept_elements(n));
      if (bytes.empty()) return 0;
      found.push_back(read_moments(bytes, n, counts[at + 1]));
      hash.add(found.back());
    }
    file.check_intact();
    const auto cached_hash = contents.metadata.find("hash");
    if (cached_hash == contents.metadata.end() || cached_hash->second != hash.with(counts))
      return 0;
    for (std::size_t at = 0; at < sites.size(); ++at) sums.replace(sites[at], std::move(found[at]));
    return static_cast<std::size_t>(counts.front());
  } catch (const Error&) {
    return 0;  // unreadable, e.g. on a failing disk: the text is run again
  }
}

void MomentsCache::keep(const std::string& name, std::size_t batches,
                        const SecondMomentSums& sums) {
  if (!keeps_ || sums.are_spoiled()) return;
  double bytes = 0;
  for (const SecondMomentSums::Site& site : sums.sites()) {
    const std::int64_t n = sums.of(site.first, site.second).size();
    bytes += static_cast<double>(kept_elements(n)) * sizeof(double);
  }
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  if (seconds_since(last_) * share_ < bytes / bytes_per_second_) return;
  const Clock::time_point start = Clock::now();
  try {
    write(name, batches, sums);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    keeps_ = false;
  }
  bytes_per_second_ = bytes / std::max(seconds_since(start), 1e-6);
  last_ = Clock::now();
}

void MomentsCache::write(const std::string& name, std::size_t batches,
                         const SecondMomentSums& sums) const {
  std::vector<SavedTensor> tensors;
  std::vector<std::int64_t> counts = {static_cast<std::int64_t>(batches)};
  MomentsHash hash;
  for (const SecondMomentSums::Site& site : sums.sites()) {
    const SecondMoments& moments = sums.of(site.first, site.second);
    tensors.push_back({tensor_name(site), DType::f64, {kept_elements(moments.size())}});
    counts.push_back(moments.rows);
    hash.add(moments);
  }
  tensors.push_back({kCounts, DType::i64, {std::ssize(counts)}});
  files_.write(name, [&](std::ostream& out) {
    SafetensorsWriter file(tensors, out, {{"hash", hash.with(counts)}});
    for (const SecondMomentSums::Site& site : sums.sites()) {
      for_kept_rows(sums.of(site.first, site.second), [&](std::span<const double> row) {
        file.write(DType::f64, std::as_bytes(row));
      });
      if (!out) return;  // ResumeFiles reports the error
    }
    file.write(counts);
    file.end();
  });
}

}  // namespace attnscope
