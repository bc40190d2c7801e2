import KithDocuments

/// A pairing as the node tells it.
struct PairingReport {
    let number: Int
    let role: String
    let state: String
    let address: String
    let name: String?
    let short: String
    let id: String
    /// Whether a number was shown before it ended.
    let hasShownNumber: Bool
    let digits: String
    let words: String
    let peer: String?
    let isConfirmed: Bool
    let knownAs: String?
    let isNameTaken: Bool
    /// By whom the machine is revoked here, if it is.
    let revocation: JSONValue?
    let reason: String?
    let isByPeer: Bool
    let error: KithError?
    let began: Instant?
    let ended: Instant?

    /// - Throws: `.protocolViolation` when it is not one.
    init(_ value: JSONValue) throws {
        guard let number = value["pairing"]?.intValue, let state = value["state"]?.stringValue else {
            throw ConnectionFailure.garbage("a pairing without its number")
        }
        self.number = number
        self.state = state
        role = value["role"]?.stringValue ?? ""
        address = value["address"]?.stringValue ?? ""
        name = value["name"]?.stringValue
        short = value["short"]?.stringValue ?? ""
        id = value["id"]?.stringValue ?? ""
        hasShownNumber = value["shown"]?.boolValue ?? false
        digits = value["digits"]?.stringValue ?? ""
        words = value["words"]?.stringValue ?? ""
        peer = value["peer"]?.stringValue
        isConfirmed = value["confirmed"]?.boolValue ?? false
        knownAs = value["known_as"]?.stringValue
        isNameTaken = value["name_taken"]?.boolValue ?? false
        revocation = value["revocation"]
        reason = value["reason"]?.stringValue
        began = value["asked_at"]?.stringValue.flatMap { Instant(parsing: $0) }
        ended = value["ended_at"]?.stringValue.flatMap { Instant(parsing: $0) }
        isByPeer = value["by_peer"]?.boolValue ?? false
        if let code = value["error"]?.stringValue, let message = value["message"]?.stringValue {
            error = KithError(
                ErrorCode.named(code) ?? .unknown(named: code, httpStatus: 500), message,
                remedy: value["remedy"]?.stringValue)
        } else {
            error = nil
        }
    }

    /// Whether nothing more happens.
    var isOver: Bool { state == "paired" || state == "failed" }

    /// How the other machine is called, for people.
    var shownName: String { DisplayText.safe(name ?? address) }

    /// Why it failed, as every command says it.
    var failure: KithError {
        if let error { return error }
        let other = shownName
        return switch reason {
        case "declined":
            KithError(
                .notTrusted, isByPeer ? "\(other) does not want to pair" : "the request of \(other) was declined")
        case "different":
            KithError(
                .notTrusted,
                isByPeer
                    ? "at \(other) somebody said that the screens differ; nothing was paired"
                    : "the screens differ; nothing was paired, and \(other) was told",
                remedy: Self.listeningRemedy)
        case "expired":
            KithError(
                .timedOut, "nobody answered in time; nothing was paired",
                remedy: hasShownNumber ? Self.listeningRemedy : nil)
        case "busy": KithError(.busy, "too many machines ask \(other) to pair now", remedy: "Try again in a minute")
        case "broken":
            KithError(
                .protocolViolation, "what answers as \(other) does not keep to the protocol of pairing",
                remedy: hasShownNumber
                    ? Self.listeningRemedy : "Look whether both machines run the same version of Kith")
        case "lost":
            KithError(
                .connectionLost, "the connection with \(other) was lost; nothing was paired",
                remedy: hasShownNumber ? Self.listeningRemedy : "Try again")
        case "failed":
            KithError(.inputOutput, "\(other) could not write down that it trusts this node", remedy: "Look at its log")
        default:
            KithError(
                .closed, isByPeer ? "\(other) gave up; nothing was paired" : "the pairing was given up")
        }
    }

    /// Also where the other side fell silent after the numbers were known: that is what somebody in between does who
    /// sees that they differ.
    private static let listeningRemedy =
        "Somebody may be listening between the two machines. Try once more; if it ends so again, type the IDs: kith trust"

    /// Whether a person means this one by an ID, short or whole, as people type it.
    func hasID(_ text: String) -> Bool {
        let typed = Self.plain(text)
        return typed.count >= 8 && (typed == Self.plain(short) || typed == Self.plain(id))
    }

    private static func plain(_ text: String) -> String {
        String(text.uppercased().filter { $0 != "-" && $0 != " " })
    }
}
