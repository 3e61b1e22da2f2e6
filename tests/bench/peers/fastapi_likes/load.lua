-- What wrk asks of the peer: `wrk -s load.lua URL -- KIND ITEMS FIRST_USER BATCH`.
--   like   POST /v1/like, a new user each     likes  POST /v1/likes, BATCH of them
--   count  GET /v1/count
-- The last line that it prints is the result as JSON.
local thread_number = 0

function setup(thread)
  thread:set("number", thread_number)
  thread_number = thread_number + 1
end

function init(args)
  kind = args[1]
  items = tonumber(args[2])
  user = tonumber(args[3]) + number * 1e8
  batch = tonumber(args[4])
  math.randomseed(number + 1)
end

local function one()
  user = user + 1
  return string.format('{"user_id":%d,"item_id":%d,"item_type":"post"}', user, math.random(items))
end

local headers = { ["Content-Type"] = "application/json" }

function request()
  if kind == "count" then
    return wrk.format("GET", "/v1/count?item_type=post&item_id=" .. math.random(items))
  end
  if kind == "like" then
    return wrk.format("POST", "/v1/like", headers, one())
  end
  local likes = {}
  for i = 1, batch do
    likes[i] = one()
  end
  return wrk.format("POST", "/v1/likes", headers, '{"likes":[' .. table.concat(likes, ",") .. "]}")
end

function done(summary, latency, requests)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write
    + summary.errors.status + summary.errors.timeout
  io.write(string.format(
    '{"calls_per_second":%f,"failed":%d,"latency_ms":{"p50":%f,"p99":%f}}\n',
    summary.requests / summary.duration * 1e6, failed,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
