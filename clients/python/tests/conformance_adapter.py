"""Makes the calls that clients/conformance/run asks for, one a line; with --asyncio through AsyncClient."""

import asyncio
import json
import sys

import counter_client as counter


def read(path):
    with open(path, "rb") as file:
        return file.read()


def connect(request, make):
    tls = None
    if "ca_file" in request:
        tls = counter.Tls(read(request["ca_file"]), *(
            read(request[name]) if name in request else None for name in ("certificate_file", "key_file")))
    options = {name: request[name] for name in ("retries", "user_agent", "bearer_token", "read_your_writes")
               if name in request}
    if "deadline_ms" in request:
        options["deadline"] = request["deadline_ms"] / 1000
    return make(request["target"], tls=tls, **options)


def item(text):
    type_, _, id_ = text.partition(":")
    return counter.Item(type_, int(id_))


def call(client, request):
    """What the client's method answers: a value, or an awaitable of one."""
    options = {name: request[name] for name in ("request_id", "traceparent") if name in request}
    if "deadline_ms" in request:
        options["deadline"] = request["deadline_ms"] / 1000
    if "consistency" in request:
        options["consistency"] = counter.Consistency[request["consistency"]]
    if "tokens" in request:
        options["consistency_tokens"] = request["tokens"]
    method = getattr(client, request["call"])
    if request["call"] in ("like", "unlike"):
        return method(int(request["user"]), item(request["item"]), **options)
    if request["call"] == "write_likes":
        return method([counter.Mutation(int(m["user"]), item(m["item"]), counter.Action[m["action"]])
                       for m in request["mutations"]], **options)
    if request["call"] in ("list_likes", "list_likers", "all_likes", "all_likers"):
        options.update({name: request[name] for name in ("item_types", "page_size", "page_token") if name in request})
        return method(item(request["item"]) if "item" in request else int(request["user"]), **options)
    if request["call"] == "count":
        return method(item(request["item"]), **options)
    if request["call"] == "counts":
        return method([item(text) for text in request["items"]], **options)
    return method(int(request["user"]), [item(text) for text in request["items"]], **options)


def watch(client, request):
    options = {"deadline": request["deadline_ms"] / 1000} if "deadline_ms" in request else {}
    return client.watch_counts([item(text) for text in request["items"]], consistency_tokens=request.get("tokens", ()),
                               **options)


def update(value):
    return {"counts": sorted(map(count, value.counts), key=lambda one: one["item"]), "snapshot": value.snapshot}


def count(value):
    return {"item": "%s:%d" % value.item, "count": str(value.count), "source": value.source.name,
            "as_of_ms": int(value.as_of.timestamp() * 1000), "consistency_token": value.consistency_token}


def written(value):
    if isinstance(value, counter.CounterError):
        return {"error": failure(value)}
    return {"changed": value.changed, "count": str(value.count), "consistency_token": value.consistency_token}


def reply(value):
    if isinstance(value, list):
        return {"all": listed(value)}
    out = {"request_id": value.request_id}
    if isinstance(value, (counter.LikesPage, counter.LikersPage)):
        values = value.likes if isinstance(value, counter.LikesPage) else value.likers
        return {**out, "page": listed(values), "next_page_token": value.next_page_token}
    if isinstance(value, counter.Written):
        out.update(written(value))
    elif isinstance(value, counter.WriteResults):
        out["results"] = [written(result) for result in value.results]
    elif isinstance(value, counter.Count):
        out.update(count(value))
    elif isinstance(value, counter.Counts):
        out["counts"] = [count(one) for one in value.counts]
    else:
        out.update(liked=list(value.liked), source=value.source.name, as_of_ms=int(value.as_of.timestamp() * 1000))
    return out


def listed(values):
    """The elements of a page or of all pages."""
    return [{**({"user": str(value.user_id)} if isinstance(value, counter.Liker) else {"item": "%s:%d" % value.item}),
             "liked_at_ms": int(value.liked_at.timestamp() * 1000)} for value in values]


def failure(error):
    return {"kind": error.kind, "code": error.code, "reason": error.reason, "message": error.message,
            "violations": [violation._asdict() for violation in error.violations],
            "quota": error.quota and error.quota._asdict(), "not_applied": error.not_applied,
            "retry_after_ms": None if error.retry_after is None else round(error.retry_after * 1000),
            "request_id": error.request_id}


def run():
    client = watched = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["call"] == "connect":
                if client is not None:
                    client.close()
                client, answer = connect(request, counter.Client), {"reply": {}}
            elif request["call"] == "stop_watch":
                watched.stop()
                answer = {"reply": {}}
            elif request["call"] in ("watch", "next_update"):
                watched = watch(client, request) if request["call"] == "watch" else watched
                answer = {"reply": update(next(watched))}
            else:
                value = call(client, request)
                answer = {"reply": reply(list(value) if request["call"].startswith("all_") else value)}
        except counter.CounterError as error:
            answer = {"error": failure(error)}
        print(json.dumps(answer), flush=True)


async def run_async():
    client = watched = None
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        try:
            if request["call"] == "connect":
                if client is not None:
                    await client.close()
                client, answer = connect(request, counter.AsyncClient), {"reply": {}}
            elif request["call"] == "stop_watch":
                watched.stop()
                answer = {"reply": {}}
            elif request["call"] in ("watch", "next_update"):
                watched = watch(client, request) if request["call"] == "watch" else watched
                answer = {"reply": update(await watched.__anext__())}
            else:
                value = call(client, request)
                answer = {"reply": reply([one async for one in value] if request["call"].startswith("all_")
                                         else await value)}
        except counter.CounterError as error:
            answer = {"error": failure(error)}
        print(json.dumps(answer), flush=True)


if "--asyncio" in sys.argv:
    asyncio.run(run_async())
else:
    run()
