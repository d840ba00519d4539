#include <xaas/store/content_store.h>

#include <gtest/gtest.h>

namespace xaas::store {
namespace {

TEST(ContentStore, KeepsWhatWasPutOnce) {
  const auto directory = *TemporaryDirectory::create();
  const ContentStore store(directory.path());
  const Digest digest = *store.put("hello");
  EXPECT_EQ(*store.put("hello"), digest);
  EXPECT_TRUE(store.has(digest));
  EXPECT_EQ(*store.get(digest), "hello");
  EXPECT_EQ(store.get(digest_of("other")).error().kind, ErrorKind::not_found);
}

TEST(ContentStore, DamagedContentNeverLeaves) {
  const auto directory = *TemporaryDirectory::create();
  const ContentStore store(directory.path());
  const Digest digest = *store.put("hello");
  ASSERT_TRUE(write_file(store.path_of(digest), "hellO"));
  EXPECT_EQ(store.get(digest).error().kind, ErrorKind::integrity);
}

} // namespace
} // namespace xaas::store
