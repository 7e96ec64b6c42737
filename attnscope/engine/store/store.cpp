#include "attnscope/engine/store/store.h"

#include <mutex>
#include <utility>

#include "attnscope/engine/store/connection.h"
#include "attnscope/engine/store/schema.h"

namespace attnscope {

Store::Store(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Store::Store(Store&&) noexcept = default;

Store::~Store() {
  if (connection_ != nullptr) connection_->database().drop_log();
}

Store Store::open(const std::string& path, const std::string& version) {
  auto connection = std::make_unique<Connection>(path, Database::Access::create, version);
  create_or_check_schema(connection->database());
  connection->database().use_log();
  return Store(std::move(connection));
}

Store Store::open_to_read(const std::string& path) {
  auto connection = std::make_unique<Connection>(path, Database::Access::existing, "");
  check_schema(connection->database());
  return Store(std::move(connection));
}

const std::string& Store::path() const { return connection_->database().path(); }

void Store::begin(const StoredRun& run) {
  const std::scoped_lock lock(connection_->mutex());
  connection_->begin(run);
}

std::optional<StoredTensor> Store::known_tensor(const StoredFile& file, const std::string& name) {
  const std::scoped_lock lock(connection_->mutex());
  return connection_->known_tensor(file, name);
}

std::optional<std::vector<Outcome>> Store::find(const std::string& inputs,
                                                std::span<const StoredPlace> places) {
  const std::scoped_lock lock(connection_->mutex());
  return connection_->find(inputs, places);
}

void Store::save(const std::string& inputs, std::span<const Outcome> outcomes,
                 std::span<const StoredPlace> places) {
  const std::scoped_lock lock(connection_->mutex());
  connection_->save(inputs, outcomes, places);
}

void Store::finish() {
  const std::scoped_lock lock(connection_->mutex());
  connection_->finish();
}

std::vector<Store::SetEntry> Store::sets() {
  const std::scoped_lock lock(connection_->mutex());
  return connection_->sets();
}

void Store::for_each_rows(std::int64_t id, const std::function<void(const StoredSet&)>& begin,
                          const std::function<void(const StoredRows&)>& add) {
  const std::scoped_lock lock(connection_->mutex());
  connection_->for_each_rows(id, begin, add);
}

}  // namespace attnscope
