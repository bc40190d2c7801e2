import KithDocuments

/// Fetches documents with attachments.
final class CouchDBAttachmentReceiver {
    private unowned let puller: CouchDBPuller
    private var open = 0

    init(puller: CouchDBPuller) { self.puller = puller }

    var isIdle: Bool { open == 0 }

    func fetch(_ wanted: WantedRevision) {
        open += 1
        let error = KithError(.notImplemented, "documents with attachments are not fetched from CouchDB yet")
        let refusal = CouchDBRefusal.incoming(wanted.name.id.text, wanted.name.revision.description, error)
        puller.store([], [refusal]) { [unowned self] in
            open -= 1
            puller.close([wanted])
        }
    }
}
