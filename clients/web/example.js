import { createRegistry } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Action, CounterService, LikeStatus } from "./dist/counter/v1/counter_pb.js";
import { BadRequestSchema, ErrorInfoSchema, QuotaFailureSchema, RetryInfoSchema } from "./dist/google/rpc/error_details_pb.js";

// In a page: window.location.origin.
const baseUrl = process.env.COUNTER_SERVER ?? "http://127.0.0.1:8000";
const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema, QuotaFailureSchema);
const transport = createConnectTransport({ baseUrl, defaultTimeoutMs: 2000, jsonOptions: { registry } });
const counter = createClient(CounterService, transport);

const item = { itemType: "post", itemId: 456n };
const like = await counter.like({ userId: 123n, item });
console.log(`${like.status === LikeStatus.LIKED ? "liked" : "was liked"}; likes: ${like.count}`);

// The token makes the read include the like.
const read = await counter.getCount({ item, consistencyToken: like.consistencyToken });
console.log(`counted: ${read.count}`);

const mutations = [123n, 0n].map((userId) => ({ userId, item, action: Action.UNLIKE }));
const { results } = await counter.writeLikes({ mutations });
for (const { error, count } of results) console.log(error ? `refused: ${error.message}` : `taken back; likes: ${count}`);

try {
  await counter.like({ userId: 123n, item: { itemType: "nothing", itemId: 0n } });
} catch (error) {
  if (!(error instanceof ConnectError)) throw error;
  for (const { fieldViolations } of error.findDetails(BadRequestSchema))
    for (const { field } of fieldViolations) console.log(Code[error.code], field);
}
