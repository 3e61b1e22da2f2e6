// CheckIdentity: whether certificate, key and authorities can be served, and until when.
//
// It does what a listener would do with them (OpenSSL), so that what passes here is never refused
// in a handshake: texts that are no PEM, a key that belongs to another certificate, a key that is
// encrypted or too weak, and authorities that are none are all found. Expiry is not a fault: a
// server that does not start helps nobody who asks it for the time left.
#ifndef COUNTER_SERVER_TLS_IDENTITY_CHECK_H_
#define COUNTER_SERVER_TLS_IDENTITY_CHECK_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls_identity.h"

namespace counter {

// When the first of the chain to expire does. The error says which of the three is wrong, and holds
// no part of any. `identity.client_ca` may be empty. Threads: any.
absl::StatusOr<absl::Time> CheckIdentity(const TlsIdentity& identity);

}  // namespace counter

#endif  // COUNTER_SERVER_TLS_IDENTITY_CHECK_H_
