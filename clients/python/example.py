"""Everything that README.md shows, as one program; clients/python/run_tests runs it."""

# snippet: first
import os

import counter_client as counter

likes = counter.Client(os.environ["COUNTER_SERVER"])
liked = likes.like(123, ("post", 456))
print("likes:", liked.count)
# snippet end

# snippet: batch
written = likes.write_likes([
    counter.Mutation(1, ("post", 456)),
    counter.Mutation(123, ("post", 456), counter.Action.UNLIKE),
    counter.Mutation(0, ("post", 456)),  # There is no user 0.
])
for result in written.results:
    if isinstance(result, counter.CounterError):
        print("refused:", result.kind)
    else:
        print("now", result.count)
# snippet end

# snippet: reads
count = likes.count(("post", 456), consistency=counter.Consistency.STRONG)
print("post 456:", count.count)
counts = likes.counts([("post", 456), ("reel", 7)])
print("reel 7:", counts.counts[1].count)
items = [("post", 456), ("reel", 7)]
for item, yes in zip(items, likes.has_liked(1, items).liked):
    if yes:
        print("user 1 likes", *item)
# snippet end

# snippet: lists
page = likes.list_likes(1, page_size=10)
for like in page.likes:
    print("liked:", like.item.type, like.item.id)
# page.next_page_token gets the next page; all_likes gets all of them, each when it is needed:
print("in all:", sum(1 for like in likes.all_likes(1, item_types=["post"])))
# snippet end

# snippet: errors
import time

try:
    likes.like(0, ("nothing", 7))
except counter.InvalidArgument as error:
    for violation in error.violations:
        print("wrong:", violation.field)
except (counter.RateLimited, counter.Overloaded) as error:
    time.sleep(error.retry_after or 1)  # Then once more.
except counter.CounterError as error:
    print(error)  # What happened, and the request id to report it by.
# snippet end

# snippet: options
count = likes.count(("post", 456), deadline=0.5, request_id="feed-42",
                    traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
print("request:", count.request_id)
# snippet end

# snippet: mine
with counter.Client(os.environ["COUNTER_SERVER"], read_your_writes=True) as mine:
    mine.like(7, ("reel", 7))
    print("reel 7:", mine.count(("reel", 7)).count)
# snippet end

# snippet: secure
from pathlib import Path

tls = counter.Tls(ca=Path("ca.pem").read_bytes(), certificate=Path("client.pem").read_bytes(),
                  key=Path("client.key").read_bytes())
secure = counter.Client("dns:///counter.example:443", tls=tls, bearer_token="secret")
# snippet end
secure.close()

# snippet: watch
with likes.watch_counts([("post", 456)]) as watch:
    for update in watch:  # The counts of now; then, each time, those that have changed.
        for count in update.counts:
            print("watched:", *count.item, count.count)
        break
# snippet end

# snippet: async
import asyncio


async def main() -> None:
    async with counter.AsyncClient(os.environ["COUNTER_SERVER"]) as likes:
        liked = await likes.like(124, ("post", 456))
        print("likes:", liked.count)


asyncio.run(main())
# snippet end
likes.close()
