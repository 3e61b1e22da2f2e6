"""What a team would write from the design card: FastAPI, asyncpg and redis, a transaction a like.

It is a peer for measurements, with the card's keys and tables and the card's faults (an expired
counter key counts on from 1, a Redis error fails a like that is stored). Nobody should serve it.

    DATABASE_URL=postgresql://... REDIS_URL=redis://... uvicorn app:app --workers 2 --loop uvloop
"""
import os
from contextlib import asynccontextmanager

import asyncpg
import redis.asyncio as redis
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

CACHE_TTL_SECONDS = 3600
RECENT_LIKES_TTL = 86400
RECENT_LIKES_MAX = 1000
RATE_LIMIT_REQUESTS = 100
RATE_LIMIT_WINDOW_SECONDS = 60

SCHEMA = """
CREATE TABLE IF NOT EXISTS user_likes (
  user_id bigint NOT NULL, item_type text NOT NULL, item_id bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (user_id, item_type, item_id));
CREATE TABLE IF NOT EXISTS counters (
  item_type text NOT NULL, item_id bigint NOT NULL, count bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (item_type, item_id));
"""


@asynccontextmanager
async def lifespan(app):
    app.state.database = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=10, max_size=20)
    app.state.redis = redis.from_url(os.environ["REDIS_URL"], decode_responses=True, max_connections=100)
    async with app.state.database.acquire() as connection:
        # Two workers start at once, and IF NOT EXISTS is no protection from each other.
        await connection.execute("SELECT pg_advisory_lock(1)")
        await connection.execute(SCHEMA)
        await connection.execute("SELECT pg_advisory_unlock(1)")
    yield
    await app.state.redis.aclose()
    await app.state.database.close()


app = FastAPI(lifespan=lifespan)


class LikeRequest(BaseModel):
    user_id: int
    item_id: int
    item_type: str = "post"


class LikesRequest(BaseModel):
    likes: list[LikeRequest]


async def check_rate(user_id):
    key = f"rate:{user_id}:likes"
    used = await app.state.redis.incr(key)
    if used == 1:
        await app.state.redis.expire(key, RATE_LIMIT_WINDOW_SECONDS)
    if used > RATE_LIMIT_REQUESTS:
        raise HTTPException(status_code=429, detail="Rate limit exceeded")


async def store_like(like):
    """Whether it was new."""
    async with app.state.database.acquire() as connection, connection.transaction():
        inserted = await connection.fetchval(
            "INSERT INTO user_likes (user_id, item_type, item_id) VALUES ($1, $2, $3) "
            "ON CONFLICT DO NOTHING RETURNING 1", like.user_id, like.item_type, like.item_id)
        if inserted is None:
            return False
        await connection.execute(
            "INSERT INTO counters (item_type, item_id, count) VALUES ($1, $2, 1) "
            "ON CONFLICT (item_type, item_id) DO UPDATE SET count = counters.count + 1",
            like.item_type, like.item_id)
        return True


@app.post("/v1/like")
async def like(request: LikeRequest):
    await check_rate(request.user_id)
    member = f"{request.item_type}:{request.item_id}"
    recent = f"recent_likes:{request.user_id}"
    if await app.state.redis.sismember(recent, member):
        return {"status": "already_liked"}
    if not await store_like(request):
        return {"status": "already_liked"}
    count = await app.state.redis.incr(f"counter:{member}")
    await app.state.redis.expire(f"counter:{member}", CACHE_TTL_SECONDS)
    await app.state.redis.sadd(recent, member)
    await app.state.redis.expire(recent, RECENT_LIKES_TTL)
    if await app.state.redis.scard(recent) > RECENT_LIKES_MAX:
        await app.state.redis.spop(recent)
    return {"status": "liked", "count": count}


@app.post("/v1/likes")
async def likes(request: LikesRequest):
    return {"results": [await like(one) for one in request.likes]}


@app.get("/v1/count")
async def count(item_id: int, item_type: str = "post"):
    key = f"counter:{item_type}:{item_id}"
    cached = await app.state.redis.get(key)
    if cached is not None:
        return {"item_id": item_id, "item_type": item_type, "count": int(cached), "cached": True}
    async with app.state.database.acquire() as connection:
        found = await connection.fetchval(
            "SELECT count FROM counters WHERE item_type = $1 AND item_id = $2", item_type, item_id)
    await app.state.redis.set(key, found or 0, ex=CACHE_TTL_SECONDS)
    return {"item_id": item_id, "item_type": item_type, "count": found or 0, "cached": False}


@app.get("/health")
async def health():
    return {"status": "ok"}
