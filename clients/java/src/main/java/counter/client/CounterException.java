package counter.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A call that failed. Repeating it is safe: any number of times has the effect of one. */
public sealed class CounterException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** A field of the request that is wrong: its path ("items[3].item_id"), what came and what was expected. */
  public record FieldViolation(String field, String description) {}

  /** A quota that was exceeded: whose ("user:123"), and a sentence with the limit. */
  public record QuotaViolation(String subject, String description) {}

  /** What an error says beside its message. */
  record Details(
      int code,
      String reason,
      List<FieldViolation> violations,
      QuotaViolation quota,
      Duration retryAfter,
      boolean notApplied,
      String requestId) {}

  private final transient Details details;

  CounterException(String message, Details details) {
    super(message);
    this.details = details;
  }

  /** The name of the class; the same in every language's client. */
  public String kind() {
    return getClass().getSimpleName();
  }

  /** The canonical code of gRPC, 1 to 16. */
  public int code() {
    return details.code();
  }

  /** The value of counter.v1.ErrorReason, "STORE_UNAVAILABLE"; empty if it did not come from the service. */
  public String reason() {
    return details.reason();
  }

  /** Of InvalidArgument: all of them. */
  public List<FieldViolation> violations() {
    return details.violations();
  }

  /** Of RateLimited. */
  public Optional<QuotaViolation> quota() {
    return Optional.ofNullable(details.quota());
  }

  /** Of RateLimited and Overloaded. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(details.retryAfter());
  }

  /** Of a write: nothing was applied, for certain. Otherwise it was applied zero or one time. */
  public boolean notApplied() {
    return details.notApplied();
  }

  /** The server's name of the call, to report it by; empty if it never answered. */
  public String requestId() {
    return details.requestId();
  }

  @Override
  public String toString() {
    String wait = retryAfter().map(after -> "; retry after " + after.toMillis() / 1000.0 + "s").orElse("");
    String request = requestId().isEmpty() ? "" : " (request " + requestId() + ")";
    return kind() + ": " + getMessage() + wait + request;
  }

  /** The request is wrong: see {@link #violations}. Do not repeat it unchanged. */
  public static final class InvalidArgument extends CounterException {
    private static final long serialVersionUID = 1;

    InvalidArgument(String message, Details details) {
      super(message, details);
    }
  }

  /** The user's likes per window are used up; nothing was applied. {@link #retryAfter} says when the window ends. */
  public static final class RateLimited extends CounterException {
    private static final long serialVersionUID = 1;

    RateLimited(String message, Details details) {
      super(message, details);
    }
  }

  /** The server has as much work as it may hold; nothing was applied. {@link #retryAfter} says when to try again. */
  public static final class Overloaded extends CounterException {
    private static final long serialVersionUID = 1;

    Overloaded(String message, Details details) {
      super(message, details);
    }
  }

  /** The server or its store could not be reached. Repeated already. */
  public static final class Unavailable extends CounterException {
    private static final long serialVersionUID = 1;

    Unavailable(String message, Details details) {
      super(message, details);
    }
  }

  /** The call's time was used up. */
  public static final class DeadlineExceeded extends CounterException {
    private static final long serialVersionUID = 1;

    DeadlineExceeded(String message, Details details) {
      super(message, details);
    }
  }

  /** The caller gave up. */
  public static final class Cancelled extends CounterException {
    private static final long serialVersionUID = 1;

    Cancelled(String message, Details details) {
      super(message, details);
    }
  }

  /** This server does not offer the method. */
  public static final class Unimplemented extends CounterException {
    private static final long serialVersionUID = 1;

    Unimplemented(String message, Details details) {
      super(message, details);
    }
  }

  /** Another limit than the two above, for example a message that is too large. */
  public static final class ResourceExhausted extends CounterException {
    private static final long serialVersionUID = 1;

    ResourceExhausted(String message, Details details) {
      super(message, details);
    }
  }

  /** The service is not in a state for this call. */
  public static final class FailedPrecondition extends CounterException {
    private static final long serialVersionUID = 1;

    FailedPrecondition(String message, Details details) {
      super(message, details);
    }
  }

  /** What was asked for is past. */
  public static final class OutOfRange extends CounterException {
    private static final long serialVersionUID = 1;

    OutOfRange(String message, Details details) {
      super(message, details);
    }
  }

  /** There is no such thing. */
  public static final class NotFound extends CounterException {
    private static final long serialVersionUID = 1;

    NotFound(String message, Details details) {
      super(message, details);
    }
  }

  /** The server wants to know who calls: a token, a certificate. */
  public static final class Unauthenticated extends CounterException {
    private static final long serialVersionUID = 1;

    Unauthenticated(String message, Details details) {
      super(message, details);
    }
  }

  /** The server knows who calls, and refuses. */
  public static final class PermissionDenied extends CounterException {
    private static final long serialVersionUID = 1;

    PermissionDenied(String message, Details details) {
      super(message, details);
    }
  }

  /** A fault of the server; report it with the request id. */
  public static final class Internal extends CounterException {
    private static final long serialVersionUID = 1;

    Internal(String message, Details details) {
      super(message, details);
    }
  }
}
