/// When a document is to expire, as Sync Gateway's `_exp` says it.
public enum Expiry: Sendable, Equatable {
    /// Never (`null`): an expiry that was set before is taken back.
    case never
    /// So many seconds after the write: a number below 30 days.
    case after(seconds: UInt64)
    /// At this time, in seconds since 1970: any other number, or a date as text.
    case at(unixSeconds: UInt64)

    /// Reads the value of `_exp`: `null`; an integer from 1 on; or a date such as `2026-01-31T23:59:59Z`, RFC 3339 with
    /// `T` and either `Z` or an offset. A fraction of a second is cut off.
    ///
    /// - Throws: `bad_document` when it is none of these, before 1970 or beyond the year 2106.
    public init(_ value: JSONValue) throws(KithError) {
        switch value {
        case .null:
            self = .never
            return
        case .string(let text):
            if let seconds = ByteText.withBytes(of: text, { DateText.unixSeconds($0) }), seconds > 0,
                seconds <= DocumentLimits.expiryUnixSecondsMax
            {
                self = .at(unixSeconds: UInt64(seconds))
                return
            }
        default:
            if let seconds = value.uint64Value, (1...DocumentLimits.expiryUnixSecondsMax).contains(seconds) {
                self =
                    seconds < DocumentLimits.expirySecondsRelativeEnd
                    ? .after(seconds: seconds) : .at(unixSeconds: seconds)
                return
            }
        }
        throw KithError(
            .badDocument, "_exp is no time at which a document can expire",
            remedy:
                "Write null, seconds (below 30 days from now on, else since 1970), or a date as 2026-01-31T23:59:59Z")
    }
}
