import type { ServiceError } from "@grpc/grpc-js";
import { create, fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, type Any } from "@bufbuild/protobuf/wkt";
import { createRegistry } from "@bufbuild/protobuf";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
  type BadRequest,
  type ErrorInfo,
  type QuotaFailure,
  type RetryInfo,
} from "./gen/google/rpc/error_details_pb";
import { StatusSchema, type Status } from "./gen/google/rpc/status_pb";

const DOMAIN = "counter.v1";
const DETAILS = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema, QuotaFailureSchema);

/** A field of the request that is wrong: its path ("items[3].item_id"), what came and what was expected. */
export interface FieldViolation {
  field: string;
  description: string;
}

/** A quota that was exceeded: whose ("user:123"), and a sentence with the limit. */
export interface QuotaViolation {
  subject: string;
  description: string;
}

/** A call that failed. Repeating it is safe: any number of times has the effect of one. */
export class CounterError extends Error {
  /** The value of counter.v1.ErrorReason, "STORE_UNAVAILABLE"; "" if it did not come from the service. */
  reason = "";
  /** Of InvalidArgument: all of them. */
  violations: FieldViolation[] = [];
  /** Of RateLimited. */
  quota?: QuotaViolation;
  /** Of RateLimited and Overloaded. */
  retryAfterMs?: number;
  /** Of a write: nothing was applied, for certain. Otherwise it was applied zero or one time. */
  notApplied = false;

  /** `code` is the canonical code of gRPC, 1 to 16; `requestId` the server's name of the call, to report it by. */
  constructor(
    message: string,
    readonly code: number,
    readonly requestId = "",
  ) {
    super(message);
    this.name = new.target.name;
  }

  /** The name of the class; the same in every language's client. */
  get kind(): string {
    return this.name;
  }

  override toString(): string {
    const wait = this.retryAfterMs === undefined ? "" : `; retry after ${this.retryAfterMs / 1000}s`;
    return `${this.kind}: ${this.message}${wait}${this.requestId ? ` (request ${this.requestId})` : ""}`;
  }
}

/** The request is wrong: see violations. Do not repeat it unchanged. */
export class InvalidArgument extends CounterError {}
/** The user's likes per window are used up; nothing was applied. retryAfterMs says when the window ends. */
export class RateLimited extends CounterError {}
/** The server has as much work as it may hold; nothing was applied. retryAfterMs says when to try again. */
export class Overloaded extends CounterError {}
/** The server or its store could not be reached. Repeated already. */
export class Unavailable extends CounterError {}
/** The call's time was used up. */
export class DeadlineExceeded extends CounterError {}
/** The caller gave up. */
export class Cancelled extends CounterError {}
/** This server does not offer the method. */
export class Unimplemented extends CounterError {}
/** Another limit than RateLimited and Overloaded, for example a message that is too large. */
export class ResourceExhausted extends CounterError {}
/** The service is not in a state for this call. */
export class FailedPrecondition extends CounterError {}
/** What was asked for is past. */
export class OutOfRange extends CounterError {}
/** There is no such thing. */
export class NotFound extends CounterError {}
/** The server wants to know who calls: a token, a certificate. */
export class Unauthenticated extends CounterError {}
/** The server knows who calls, and refuses. */
export class PermissionDenied extends CounterError {}
/** A fault of the server; report it with the request id. */
export class Internal extends CounterError {}

type Kind = new (message: string, code: number, requestId?: string) => CounterError;
const KINDS: Record<number, Kind> = {
  1: Cancelled,
  3: InvalidArgument,
  4: DeadlineExceeded,
  5: NotFound,
  7: PermissionDenied,
  8: ResourceExhausted,
  9: FailedPrecondition,
  11: OutOfRange,
  12: Unimplemented,
  14: Unavailable,
  16: Unauthenticated,
};
// The reason tells apart what shares a code.
const KINDS_OF_REASONS: Record<string, Kind> = { RATE_LIMITED: RateLimited, OVERLOADED: Overloaded };

/** An error that this client found before it sent anything. */
export function refused(field: string, description: string): CounterError {
  const error = new InvalidArgument(`${field}: ${description}`, 3);
  error.violations = [{ field, description }];
  error.notApplied = true;
  return error;
}

/** The error of a google.rpc.Status. Requires status.code != 0. */
export function decoded(status: Status, requestId: string, notApplied = false): CounterError {
  const details = new Map<string, unknown>();
  for (const any of status.details) {
    const detail = unpacked(any);
    if (detail && !details.has(detail.$typeName)) details.set(detail.$typeName, detail);
  }
  const info = details.get("google.rpc.ErrorInfo") as ErrorInfo | undefined;
  const ours = info?.domain === DOMAIN;
  const reason = ours ? info.reason : "";
  const kind = KINDS_OF_REASONS[reason] ?? KINDS[status.code] ?? Internal;
  const error = new kind(status.message, status.code, requestId);
  error.reason = reason;
  error.notApplied = notApplied || (ours && info.metadata["outcome"] === "not-applied");
  const bad = details.get("google.rpc.BadRequest") as BadRequest | undefined;
  error.violations = (bad?.fieldViolations ?? []).map(({ field, description }) => ({ field, description }));
  const delay = (details.get("google.rpc.RetryInfo") as RetryInfo | undefined)?.retryDelay;
  if (delay) error.retryAfterMs = Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  const quota = (details.get("google.rpc.QuotaFailure") as QuotaFailure | undefined)?.violations[0];
  if (quota) error.quota = { subject: quota.subject, description: quota.description };
  return error;
}

/** The error of a call. */
export function ofCall(failed: ServiceError, requestId: string): CounterError {
  let details: Any[] = [];
  const [packed] = failed.metadata.get("grpc-status-details-bin");
  try {
    if (packed instanceof Uint8Array) details = fromBinary(StatusSchema, packed).details;
  } catch {
    // Details that cannot be read are as good as none.
  }
  const [outcome] = failed.metadata.get("outcome");
  const [late] = failed.metadata.get("x-request-id"); // Of a call that failed at once.
  // Code and message are always the call's own.
  const status = create(StatusSchema, { code: failed.code, message: failed.details, details });
  return decoded(status, requestId || String(late ?? ""), outcome === "not-applied");
}

function unpacked(any: Any) {
  try {
    return anyUnpack(any, DETAILS);
  } catch {
    return undefined;
  }
}
