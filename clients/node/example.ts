// Everything that README.md shows, as one program; clients/node/run_tests runs it.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
// snippet: first
import * as counter from "counter-client";

const likes = new counter.Client(process.env.COUNTER_SERVER);
const post = { type: "post", id: 456n };
// snippet end

async function main(): Promise<void> {
  // snippet: first
  const liked = await likes.like(123n, post);
  console.log(`likes: ${liked.count}`);
  // snippet end

  // snippet: batch
  const written = await likes.writeLikes([
    { userId: 1n, item: post, action: "LIKE" },
    { userId: 123n, item: post, action: "UNLIKE" },
    { userId: 0n, item: post, action: "LIKE" }, // There is no user 0.
  ]);
  for (const result of written.results) {
    if (result instanceof counter.CounterError) console.log(`refused: ${result.kind}`);
    else console.log(`now ${result.count}`);
  }
  // snippet end

  // snippet: reads
  const count = await likes.count(post, { consistency: "STRONG" });
  console.log(`post 456: ${count.count}`);

  const items = [post, { type: "reel", id: 7n }];
  const { counts } = await likes.counts(items);
  console.log(`reel 7: ${counts[1]?.count}`);

  const { liked: has } = await likes.hasLiked(1n, items);
  items.forEach((item, i) => {
    if (has[i]) console.log(`user 1 likes ${item.type} ${item.id}`);
  });
  // snippet end

  // snippet: lists
  const page = await likes.listLikes(1n, { pageSize: 10 });
  for (const like of page.likes) console.log(`liked: ${like.item.type} ${like.item.id}`);

  // page.nextPageToken gets the next page; allLikes gets all of them, each when it is needed:
  let number = 0;
  for await (const _ of likes.allLikes(1n, { itemTypes: ["post"] })) number++;
  console.log(`in all: ${number}`);
  // snippet end

  // snippet: errors
  try {
    await likes.like(0n, { type: "nothing", id: 7n });
  } catch (error) {
    if (error instanceof counter.InvalidArgument) {
      for (const violation of error.violations) console.log(`wrong: ${violation.field}`);
    } else if (error instanceof counter.RateLimited || error instanceof counter.Overloaded) {
      await sleep(error.retryAfterMs); // Then once more.
    } else {
      console.log(String(error)); // What happened, and the request id to report it by.
    }
  }
  // snippet end

  // snippet: options
  const soon = await likes.count(post, {
    deadlineMs: 500,
    requestId: "feed-42",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  });
  console.log(`request: ${soon.requestId}`);
  // snippet end

  // snippet: mine
  const mine = new counter.Client(process.env.COUNTER_SERVER, { readYourWrites: true });
  await mine.like(7n, { type: "reel", id: 7n });
  console.log(`reel 7: ${(await mine.count({ type: "reel", id: 7n })).count}`);
  mine.close();
  // snippet end

  // snippet: secure
  const secure = new counter.Client("dns:///counter.example:443", {
    tls: {
      ca: readFileSync("ca.pem"),
      certificate: readFileSync("client.pem"),
      key: readFileSync("client.key"),
    },
    bearerToken: "secret",
  });
  // snippet end
  secure.close();

  // snippet: watch
  for await (const update of likes.watchCounts([post])) {
    // The counts of now; then, each time, those that have changed.
    for (const { item, count } of update.counts) console.log(`watched: ${item.type} ${item.id} ${count}`);
    break;
  }
  // snippet end
  likes.close();
}

main();
