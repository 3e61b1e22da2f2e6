/** The client of Counter: who likes what, and how often it is liked; over gRPC. */
export { Client, serviceConfig, VERSION } from "./client";
export {
  Cancelled,
  CounterError,
  DeadlineExceeded,
  FailedPrecondition,
  Internal,
  InvalidArgument,
  NotFound,
  OutOfRange,
  Overloaded,
  PermissionDenied,
  RateLimited,
  ResourceExhausted,
  Unauthenticated,
  Unavailable,
  Unimplemented,
  type FieldViolation,
  type QuotaViolation,
} from "./errors";
export type * from "./types";
export type { Watch } from "./watch";
