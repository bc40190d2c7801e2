/// How long a pairing may take in each of its parts, in seconds.
struct PairingTimes {
    /// Until who has dialled says who it is.
    var openSeconds = NodeLimits.pairingOpenSeconds
    /// Until somebody accepts the request.
    var askSeconds = NodeLimits.pairingAskSeconds
    /// Until both people have compared the numbers.
    var compareSeconds = NodeLimits.pairingCompareSeconds
}
