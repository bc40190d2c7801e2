/// What all collections of a session have on its way together, so that the memory of a link does not grow with their
/// number. The limits are those of `ReplicationLimits`.
final class SharedWindows {
    /// Lists of changes that are being read, that are sent and not yet answered, or whose answer waits for the store.
    var unansweredLists = 0
    /// Whether revisions are being read from the store to be sent: one collection after the other, so that none reads ahead
    /// of the windows.
    var isReadingRevisions = false
    /// Revisions sent and not yet answered, and their bytes.
    var unansweredRevisions = 0
    var unansweredBytes = 0
    /// Whether a list that was received is being looked up.
    var isLookingUp = false
    /// Bytes of lists received and not yet answered.
    var listBytes = 0
    /// Revisions asked for and not arrived.
    var awaitedRevisions = 0
    /// Bytes of revisions received and not yet stored, without those that wait for blobs.
    var receivedBytes = 0
    /// Revisions that wait for blobs, and their bytes.
    var heldRevisions = 0
    var heldBytes = 0
    /// Blobs that are being fetched.
    var openFetches = 0
    /// Revisions noted as having come from the peer.
    var echoes = 0
}
