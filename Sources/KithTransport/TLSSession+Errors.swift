import COpenSSL
import Glibc
import KithDocuments

extension TLSSession {
    /// The error that OpenSSL has queued, in Kith's words.
    func queuedError() -> KithError {
        let code = ERR_peek_last_error()
        let text = Self.queuedErrorText()
        let reason = kith_ERR_GET_REASON(code)
        // Reasons from 1000 on are the peer's alerts (SSL_AD_REASON_OFFSET), by the numbers of RFC 8446, section 6.
        if reason >= 1000 { return error(alert: reason - 1000) }
        switch reason {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return lost(errno: 0)
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return missingCertificate
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW: return tooOld
        case SSL_R_NO_SHARED_CIPHER:
            return KithError(.tlsFailed, "\(remoteName) offers no cipher suite that this node takes")
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG,
            SSL_R_BAD_PACKET_LENGTH, SSL_R_RECORD_LENGTH_MISMATCH:
            return KithError(
                .tlsFailed, "\(remoteName) does not speak TLS", remedy: "Check that a Kith node has this port")
        case SSL_R_EXCESSIVE_MESSAGE_SIZE:
            return KithError(.tlsFailed, "\(remoteName) sends more certificates than fit")
        default:
            return KithError(.tlsFailed, "TLS with \(remoteName) failed: \(text)")
        }
    }

    private func error(alert: Int32) -> KithError {
        switch alert {
        case SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_BAD_CERTIFICATE,
            SSL_AD_CERTIFICATE_REQUIRED:
            KithError(
                .notTrusted, "\(remoteName) does not trust this node", remedy: "Pair the two nodes, on both sides")
        case SSL_AD_CERTIFICATE_REVOKED:
            KithError(
                .notTrusted, "\(remoteName) says that this node's certificate is revoked",
                remedy: "Have the site's authority sign a new one: kith cert request")
        case SSL_AD_CERTIFICATE_EXPIRED:
            KithError(
                .notTrusted,
                "\(remoteName) says that this node's certificate is not valid now: it has ended, or a clock is wrong",
                remedy: "Look at both clocks, and at the dates of the certificate: kith status")
        case SSL_AD_PROTOCOL_VERSION: tooOld
        case SSL_AD_HANDSHAKE_FAILURE:
            KithError(.tlsFailed, "\(remoteName) refuses the TLS handshake: nothing in common, or no certificate")
        default:
            KithError(.tlsFailed, "\(remoteName) ended TLS with alert \(alert) (\(Self.name(alert: alert)))")
        }
    }

    private static func name(alert: Int32) -> String {
        SSL_alert_desc_string_long(alert).map { String(cString: $0) } ?? "unknown"
    }

    private var tooOld: KithError {
        KithError(
            .tlsFailed,
            isServer
                ? "\(remoteName) speaks no TLS version that this node takes (1.2 or 1.3)"
                : "\(remoteName) does not speak TLS 1.3",
            remedy: "Update the other side")
    }

    var missingCertificate: KithError {
        KithError(
            .notTrusted, "\(remoteName) shows no certificate",
            remedy: "Give the client the certificate of a paired node")
    }

    var endedInHandshake: KithError {
        KithError(.connectionLost, "\(remoteName) closed the connection within the TLS handshake")
    }

    /// The stream ended, or broke, without TLS having said that it ends: what came last may be cut (RFC 8446, 6.1).
    func lost(errno number: Int32) -> KithError {
        if let refusal { return refusal }
        if number != 0 { return connectionError(number, remoteName: remoteName) }
        return KithError(.connectionLost, "\(remoteName) went away without ending the TLS session")
    }

    /// OpenSSL's words for its last error. They hold no key and no content.
    static func queuedErrorText() -> String {
        let code = ERR_peek_last_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

/// The error of a TCP connection that could not be made, or broke.
func connectionError(_ number: Int32, remoteName: String) -> KithError {
    switch number {
    case ECONNREFUSED:
        KithError(.connectionLost, "\(remoteName) refuses the connection", remedy: "Check that a node listens there")
    case ECONNRESET, EPIPE: KithError(.connectionLost, "\(remoteName) broke the connection off")
    case ETIMEDOUT: KithError(.timedOut, "\(remoteName) does not answer any more")
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN:
        KithError(.connectionLost, "\(remoteName) cannot be reached: \(errorText(number))")
    default: KithError(.connectionLost, "The connection with \(remoteName) failed: \(errorText(number))")
    }
}
