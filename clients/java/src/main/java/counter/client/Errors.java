package counter.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.QuotaFailure;
import com.google.rpc.RetryInfo;
import counter.client.CounterException.Details;
import counter.client.CounterException.FieldViolation;
import counter.client.CounterException.QuotaViolation;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** How a failed call becomes a CounterException. Pure. */
final class Errors {
  private static final String DOMAIN = "counter.v1";
  private static final Metadata.Key<String> OUTCOME = Metadata.Key.of("outcome", Metadata.ASCII_STRING_MARSHALLER);

  private Errors() {}

  /** An error that this client found before it sent anything. */
  static CounterException refused(String field, String description) {
    Details details = new Details(3, "", List.of(new FieldViolation(field, description)), null, null, true, "");
    return new CounterException.InvalidArgument(field + ": " + description, details);
  }

  /** Of a caller that gave up. */
  static CounterException cancelled(String message) {
    return new CounterException.Cancelled(message, new Details(1, "", List.of(), null, null, false, ""));
  }

  static CounterException badReply(String message, String requestId) {
    Details details = new Details(13, "", List.of(), null, null, false, requestId);
    return new CounterException.Internal(message, details);
  }

  static CounterException ofCall(Status status, Metadata trailers, String requestId) {
    com.google.rpc.Status.Builder decoded = com.google.rpc.Status.newBuilder();
    try {
      com.google.rpc.Status sent = StatusProto.fromStatusAndTrailers(status, trailers);
      decoded.addAllDetails(sent.getDetailsList());
    } catch (IllegalArgumentException unreadable) {
      decoded.clear(); // Details that cannot be read are as good as none.
    }
    // Code and message are always the call's own.
    decoded.setCode(status.getCode().value());
    decoded.setMessage(status.getDescription() == null ? "" : status.getDescription());
    return decoded(decoded.build(), requestId, "not-applied".equals(trailers.get(OUTCOME)));
  }

  /** Requires status.getCode() != 0. */
  static CounterException decoded(com.google.rpc.Status status, String requestId, boolean notApplied) {
    String reason = "";
    List<FieldViolation> violations = new ArrayList<>();
    QuotaViolation quota = null;
    Duration retryAfter = null;
    for (Any any : status.getDetailsList()) {
      try {
        if (any.is(ErrorInfo.class)) {
          ErrorInfo info = any.unpack(ErrorInfo.class);
          if (info.getDomain().equals(DOMAIN)) {
            reason = info.getReason();
            notApplied |= "not-applied".equals(info.getMetadataMap().get("outcome"));
          }
        } else if (any.is(BadRequest.class)) {
          for (BadRequest.FieldViolation one : any.unpack(BadRequest.class).getFieldViolationsList()) {
            violations.add(new FieldViolation(one.getField(), one.getDescription()));
          }
        } else if (any.is(RetryInfo.class)) {
          com.google.protobuf.Duration delay = any.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        } else if (any.is(QuotaFailure.class)) {
          List<QuotaFailure.Violation> quotas = any.unpack(QuotaFailure.class).getViolationsList();
          if (!quotas.isEmpty()) {
            quota = new QuotaViolation(quotas.get(0).getSubject(), quotas.get(0).getDescription());
          }
        }
      } catch (InvalidProtocolBufferException unreadable) {
        continue;
      }
    }
    Details details =
        new Details(status.getCode(), reason, List.copyOf(violations), quota, retryAfter, notApplied, requestId);
    return ofKind(status.getMessage(), details);
  }

  private static CounterException ofKind(String message, Details details) {
    // The reason tells apart what shares a code.
    switch (details.reason()) {
      case "RATE_LIMITED":
        return new CounterException.RateLimited(message, details);
      case "OVERLOADED":
        return new CounterException.Overloaded(message, details);
      default:
        break;
    }
    return switch (details.code()) {
      case 1 -> new CounterException.Cancelled(message, details);
      case 3 -> new CounterException.InvalidArgument(message, details);
      case 4 -> new CounterException.DeadlineExceeded(message, details);
      case 5 -> new CounterException.NotFound(message, details);
      case 7 -> new CounterException.PermissionDenied(message, details);
      case 8 -> new CounterException.ResourceExhausted(message, details);
      case 9 -> new CounterException.FailedPrecondition(message, details);
      case 11 -> new CounterException.OutOfRange(message, details);
      case 12 -> new CounterException.Unimplemented(message, details);
      case 14 -> new CounterException.Unavailable(message, details);
      case 16 -> new CounterException.Unauthenticated(message, details);
      default -> new CounterException.Internal(message, details);
    };
  }
}
