#include "attnscope/hub/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <new>
#include <string_view>

namespace attnscope {
namespace {

constexpr std::size_t kGitDigits = 40;
constexpr std::size_t kSha256Digits = 64;

bool has_hex_digits(std::string_view text, std::size_t count) {
  return text.size() == count && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

struct EtagChecksum::Digest {
  const char* name;
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  Digest(const char* shown, const EVP_MD* kind) : name(shown) {
    if (context == nullptr || EVP_DigestInit_ex(context, kind, nullptr) != 1) {
      throw std::bad_alloc();
    }
  }
  ~Digest() { EVP_MD_CTX_free(context); }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
};

EtagChecksum::EtagChecksum(std::string etag, std::optional<std::uint64_t> size)
    : etag_(std::move(etag)) {
  if (has_hex_digits(etag_, kSha256Digits)) {
    digest_ = std::make_unique<Digest>("SHA-256", EVP_sha256());
  } else if (has_hex_digits(etag_, kGitDigits) && size) {
    digest_ = std::make_unique<Digest>("SHA-1", EVP_sha1());
    const std::string head = "blob " + std::to_string(*size);
    add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));  // including the zero byte
  }
}

EtagChecksum::~EtagChecksum() = default;

void EtagChecksum::add(std::span<const std::byte> bytes) {
  if (digest_) EVP_DigestUpdate(digest_->context, bytes.data(), bytes.size());
}

std::optional<std::string> EtagChecksum::problem() {
  if (!digest_) return std::nullopt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned count = 0;
  EVP_DigestFinal_ex(digest_->context, bytes.data(), &count);
  std::string found;
  for (unsigned at = 0; at < count; ++at) {
    constexpr char kDigits[] = "0123456789abcdef";
    found.append({kDigits[bytes[at] / 16], kDigits[bytes[at] % 16]});
  }
  if (found == etag_) return std::nullopt;
  return std::string("its ") + digest_->name + " is " + found + ", expected " + etag_ +
         " (reported by the hub)";
}

}  // namespace attnscope
