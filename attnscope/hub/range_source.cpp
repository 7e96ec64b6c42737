#include "attnscope/hub/range_source.h"

#include <algorithm>
#include <cstring>

namespace attnscope {
namespace {

class HubRangeSource : public RangeSource {
 public:
  HubRangeSource(std::shared_ptr<HubConnections> connections, HubSubject subject,
                 std::string commit, std::uint64_t bytes)
      : connections_(std::move(connections)),
        subject_(std::move(subject)),
        commit_(std::move(commit)),
        bytes_(bytes) {}

  void read(std::uint64_t offset, std::span<std::byte> out) override {
    if (out.empty()) return;
    std::unique_ptr<HubClient> client = connections_->take(subject_);
    const std::string own = client->address_of(commit_, subject_.file);
    std::size_t done = 0;
    for (int tries = 0; done < out.size();) {
      const std::string known = location();
      const std::size_t before = done;
      try {
        read_once(*client, known.empty() ? own : known, offset, out, done);
      } catch (const HubError& error) {
        // File addresses expire after some minutes. The hub returns a new one.
        set_location("");
        const bool was_old = !known.empty() && error.fault() != HubFault::unreachable;
        if (done > before) tries = 0;
        if (!was_old && (!error.is_temporary() || tries >= HubClient::kRetries)) throw;
        if (!was_old) client->wait_after(error, tries);
        ++tries;
      }
    }
    connections_->give_back(std::move(client));
  }

 private:
  std::string location() {
    const std::scoped_lock lock(mutex_);
    return location_;
  }
  void set_location(std::string location) {
    const std::scoped_lock lock(mutex_);
    location_ = std::move(location);
  }

  /// Reads the bytes from `done` on. `done` counts the bytes received.
  void read_once(HubClient& client, const std::string& url, std::uint64_t offset,
                 std::span<std::byte> out, std::size_t& done) {
    const std::uint64_t first = offset + done, last = offset + out.size() - 1;
    const std::string range = "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                              std::to_string(bytes_);
    const auto refuse = [&](const std::string& problem) {
      throw Error(ErrorKind::io, {.file = subject_.model + ": " + subject_.file,
                                  .problem = problem,
                                  .hint = "download the model: omit {remote}"});
    };
    const WebReader reader{
        .on_header =
            [&](const WebResponse& response) {
              const bool is_all = response.status == 200 && first == 0 && last + 1 == bytes_;
              const std::string_view coding = response.header("content-encoding");
              if (!coding.empty() && coding != "identity")
                refuse("the server compresses the bytes of this file");
              if (response.status != 206 && !is_all)
                refuse("the server does not support range requests");
              if (!is_all && response.header("content-range") != range) {
                refuse("the server sent another byte range than requested: " +
                       verbatim(std::string(response.header("content-range"))));
              }
            },
        .on_body =
            [&](std::span<const std::byte> bytes) {
              if (bytes.size() > out.size() - done)
                refuse("the server sent more bytes than requested");
              std::memcpy(out.data() + done, bytes.data(), bytes.size());
              done += bytes.size();
            }};
    std::string answered;
    const WebRequest request{.url = url, .first_byte = first, .last_byte = last};
    client.get(request, reader, &answered);
    if (done < out.size()) refuse("the server sent fewer bytes than requested");
    set_location(std::move(answered));
  }

  const std::shared_ptr<HubConnections> connections_;
  const HubSubject subject_;
  const std::string commit_;
  const std::uint64_t bytes_;
  std::mutex mutex_;
  std::string location_;  // the last address that responded; empty: unknown
};

}  // namespace

std::unique_ptr<HubClient> HubConnections::take(const HubSubject& subject) {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return std::make_unique<HubClient>(context_, subject);
  std::unique_ptr<HubClient> client = std::move(free_.back());
  free_.pop_back();
  client->set_subject(subject);
  return client;
}

void HubConnections::give_back(std::unique_ptr<HubClient> client) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(client));
}

std::shared_ptr<RangeSource> range_source(std::shared_ptr<HubConnections> connections,
                                          HubSubject subject, std::string commit,
                                          std::uint64_t bytes) {
  return std::make_shared<HubRangeSource>(std::move(connections), std::move(subject),
                                          std::move(commit), bytes);
}

}  // namespace attnscope
