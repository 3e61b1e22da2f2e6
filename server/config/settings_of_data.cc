#include "server/config/setting_table.h"

namespace counter {
namespace {

constexpr int kDay = 86400;
constexpr int kMonth = 30 * kDay;

}  // namespace

std::vector<Setting> SettingsOfData() {
  return {
      {.name = "ITEM_TYPES",
       .group = "Likes",
       .field = &Config::item_types,
       .default_text = "post=1,reel=2,comment=3",
       .help =
           "The kinds of item that can be liked, each with the number under which it is stored. "
           "A number must keep its meaning for as long as the data lives."},

      {.name = "DATA_DIR",
       .group = "Storage",
       .field = &Config::data_dir,
       .default_text = "./counter-data",
       .help = "The folder of the embedded store; made if it is not there. One server a folder."},
      {.name = "DATABASE_URL",
       .group = "Storage",
       .field = &Config::database_url,
       .default_text = "",
       .schemes = {"postgresql", "postgres"},
       .secret = true,
       .help =
           "The PostgreSQL database that holds the likes. Empty: the embedded store in DATA_DIR. "
           "Several hosts, with commas between, are the members of one cluster: the primary among "
           "them is found, and followed after a failover. "
           "A driver suffix (postgresql+asyncpg://) is accepted and ignored. On a command line "
           "other users of the machine can read it: prefer the environment or the file."},
      {.name = "REPLICA_URLS",
       .group = "Storage",
       .field = &Config::replica_urls,
       .default_text = "",
       .schemes = {"postgresql", "postgres"},
       .secret = true,
       .help =
           "Standbys of DATABASE_URL's primary, one URL of one host each, with commas or blanks "
           "between. They answer what a cache did not, for reads with CONSISTENCY_CACHED and "
           "with tokens, while they are not further behind than REPLICA_LAG_MAX_MILLISECONDS; "
           "the primary answers what they cannot. Empty: the primary answers everything."},
      {.name = "REPLICA_LAG_MAX_MILLISECONDS",
       .group = "Storage",
       .field = &Config::replica_lag_max_ms,
       .default_text = "1000",
       .min = 100,
       .max = 60'000,
       .unit = "milliseconds",
       .help = "How far a replica's answer may be behind the primary when it is given. It is "
               "measured with every answer; one that is further behind is not used. A count that "
               "is cached from a replica lives 5 seconds more, at most."},
      {.name = "DURABILITY",
       .group = "Storage",
       .field = &Config::durability,
       .default_text = "local",
       .help =
           "What an acknowledged like survives. local: the crash of every process and machine; a "
           "PostgreSQL whose fsync or full_page_writes is off is refused. unsafe: such a "
           "PostgreSQL "
           "is used, and each connection warns of it; the embedded store is always local. "
           "replicated: the loss of the primary, too; a PostgreSQL without "
           "synchronous_standby_names is refused, and a like whose wait for the standby was cut "
           "short is never acknowledged."},
      {.name = "WRITE_QUEUE_MAX",
       .group = "Storage",
       .field = &Config::write_queue_max,
       .default_text = "100000",
       .min = 1000,
       .max = 10'000'000,
       .unit = "mutations",
       .help = "Likes and unlikes that may wait for the store. Further ones are refused as "
               "OVERLOADED."},
      {.name = "WRITE_WAIT_MAX_MILLISECONDS",
       .group = "Storage",
       .field = &Config::write_wait_max_ms,
       .default_text = "500",
       .min = 10,
       .max = 60'000,
       .unit = "milliseconds",
       .help =
           "How long a like or unlike may have to wait for the store, by what waits in front of "
           "it and how fast that goes. One that would wait for longer, or past its deadline, is "
           "refused as OVERLOADED at once; what fits into the next transactions is always "
           "taken."},
      {.name = "READ_QUEUE_MAX",
       .group = "Storage",
       .field = &Config::read_queue_max,
       .default_text = "10000",
       .min = 1,
       .max = 10'000'000,
       .unit = "reads",
       .help = "Reads that may wait for the store. Further ones are refused as OVERLOADED."},
      {.name = "BATCH_ROWS_MAX",
       .group = "Storage",
       .field = &Config::batch_rows_max,
       .default_text = "1000",
       .min = 1,
       .max = 10'000,
       .unit = "mutations",
       .help = "The most that the store applies in one transaction. More raises throughput under "
               "load and the time that each write takes."},
      {.name = "LIKERS_INDEX",
       .group = "Storage",
       .field = &Config::likers_index,
       .default_text = "false",
       .help =
           "Whether the index that ListLikers needs is made: by the embedded store when it is "
           "opened, in PostgreSQL by counterd migrate up, while servers go on working. An index "
           "that is there is used, and kept up to date, whatever this says. It takes room for "
           "each like (docs/lists.md)."},

      {.name = "REDIS_URL",
       .group = "Cache",
       .field = &Config::redis_url,
       .default_text = "",
       .schemes = {"redis", "rediss"},
       .secret = true,
       .help =
           "The Redis that caches counts and recent likes and shares rate limits between servers. "
           "A "
           "Redis Cluster is recognised by itself: name several of its nodes, "
           "redis://USER:PASSWORD@HOST:PORT,HOST:PORT, so that one is there when a server starts. "
           "Empty: a cache inside this process."},
      {.name = "CACHE_TTL_SECONDS",
       .group = "Cache",
       .field = &Config::cache_ttl,
       .default_text = "3600",
       .min = 1,
       .max = kMonth,
       .unit = "seconds",
       .help = "How long a cached count lives. It bounds how old a cached answer can be when "
               "invalidation is lost."},
      {.name = "CACHE_ITEMS_MAX",
       .group = "Cache",
       .field = &Config::cache_items_max,
       .default_text = "1000000",
       .min = 1,
       .max = 100'000'000,
       .unit = "counts",
       .help = "Counts that the cache inside this process holds; about 160 bytes each."},
      {.name = "NEAR_CACHE_MILLISECONDS",
       .group = "Cache",
       .field = &Config::near_cache_ms,
       .default_text = "0",
       .min = 0,
       .max = 600,
       .unit = "milliseconds",
       .help =
           "With REDIS_URL: how long a server answers a count from its own memory before it asks "
           "Redis again; half as long again while it asks. A write through another server may be "
           "unseen for that long, so a caller of two servers may see a count step back. 0: always "
           "ask Redis."},
      {.name = "NEAR_CACHE_ITEMS_MAX",
       .group = "Cache",
       .field = &Config::near_cache_items_max,
       .default_text = "100000",
       .min = 1,
       .max = 100'000'000,
       .unit = "counts",
       .help =
           "With REDIS_URL: counts that a server holds in its own memory; about 180 bytes each."},
      {.name = "RECENT_LIKES_TTL",
       .group = "Cache",
       .field = &Config::recent_likes_ttl,
       .default_text = "86400",
       .min = 1,
       .max = kMonth,
       .unit = "seconds",
       .help = "How long the recent likes of a user who makes no more of them stay cached."},
      {.name = "RECENT_LIKES_FRESH_SECONDS",
       .group = "Cache",
       .field = &Config::recent_likes_fresh,
       .default_text = "300",
       .min = 1,
       .max = kDay,
       .unit = "seconds",
       .help =
           "How long after it was last seen in the store a cached like may answer HasLiked. Not "
           "above RECENT_LIKES_TTL."},
      {.name = "RECENT_LIKES_MAX",
       .group = "Cache",
       .field = &Config::recent_likes_max,
       .default_text = "500000",
       .min = 100'000,
       .max = 100'000'000,
       .unit = "likes",
       .help = "Recent likes, of all users, that the cache inside this process holds; 260 bytes "
               "each at "
               "most."},
  };
}

}  // namespace counter
