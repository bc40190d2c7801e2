import KithDocuments
import KithStore
import KithWire

/// One document with attachments on its way from the server: `open_revs` as `multipart/mixed`, each revision a
/// `multipart/related` part with its attachments behind it, which go to the store as they come.
///
/// Servers that know no parts answer JSON with the attachments in it.
final class CouchDBAttachmentFetch {
    private let wanted: WantedRevision
    private unowned let receiver: CouchDBAttachmentReceiver
    private var puller: CouchDBPuller { receiver.puller }
    private var session: CouchDBReplicator { receiver.puller.session }
    private var exchange: CouchDBExchange?
    /// What is here of the attachments of an ancestor, which the server need not send.
    private var before = AttachmentList()
    private var beforeGeneration: UInt64 = 0

    private var outer: MultipartParser?
    private var inner: MultipartParser?
    private var text: [UInt8] = []
    private var isInText = false
    /// Bytes of the texts of all revisions.
    private var textBytes = 0
    private var parts: DocumentParts?
    /// Attachments whose bytes are still to come, in their order.
    private var waiting: [IncomingAttachment] = []
    private var received: [[UInt8]: DocumentAttachment] = [:]
    private var input: CouchDBAttachmentInput?
    private var revisions: [IncomingRevision] = []
    private var refusals: [CouchDBRefusal] = []
    /// Bytes of the answer that were given and are not consumed.
    private var unconsumed = 0
    /// Whether the store is at work, which has to be awaited.
    private var isBusy = false
    private var hasAnswered = false
    private var isOver = false
    private var isGivenUp = false

    init(_ wanted: WantedRevision, receiver: CouchDBAttachmentReceiver) {
        self.wanted = wanted
        self.receiver = receiver
    }

    func begin() {
        session.perform(.readAttachments(wanted.name.id, wanted.ancestors)) { [self] result in
            switch result {
            case .attachments(let list, let revision):
                (before, beforeGeneration) = (list, revision.generation)
                ask(since: list.isEmpty ? nil : revision)
            case .noAttachments: ask(since: nil)
            default: session.storeFailed(result)
            }
        }
    }

    private func ask(since: RevisionID?) {
        var query = [
            wanted.openRevisions, "revs=true", "latest=true", "attachments=true",
        ]
        if let since { query.append(CouchDBPath.json("atts_since", CouchDBPath.list([since]))) }
        var request = CouchDBRequest(
            "GET", CouchDBPath.document(wanted.name.id) + "?" + query.joined(separator: "&"))
        request.headers = [("Accept", "multipart/mixed")]
        request.about = [.init(name: wanted.name, isOutgoing: false)]
        let exchange = session.send(request, bodyMax: session.limits.documentAnswerBytesMax) { [self] answer in
            finishAnswer(answer)
        }
        self.exchange = exchange
        exchange.onFailed = { [self] error in refuse(error) }
        exchange.onHead = { [self] in
            let type = exchange.headers["Content-Type"].flatMap(HTTPMediaType.init)
            guard exchange.status == 200, type?.name == "multipart/mixed", let type else { return }
            do {
                outer = try Self.parser(type)
                exchange.onBytes = { [self] bytes in receive(bytes) }
                exchange.onCut = { [self] error in cutOff(error) }
            } catch {
                session.fail(error)
            }
        }
    }

    private static func parser(_ type: HTTPMediaType) throws(KithError) -> MultipartParser {
        do {
            return try MultipartParser(boundary: type[parameter: "boundary"] ?? "")
        } catch {
            throw error.kithError
        }
    }

    // MARK: Parts

    private func receive(_ bytes: [UInt8]) {
        session.counts.attachmentBytesReceived += UInt64(bytes.count)
        unconsumed += bytes.count
        // What comes behind the end is dropped.
        if !isOver { outer?.receive(bytes) }
        pump()
    }

    /// Works off what has come, until the store has to be awaited.
    private func pump() {
        guard !isGivenUp, outer != nil else { return }
        do {
            while !isBusy, !isOver, try step() {}
        } catch {
            // Also what is wrong with the answer: with this document it may be so each time.
            return refuse(error)
        }
        guard !isBusy, let exchange else { return }
        session.consumed(exchange, unconsumed)
        unconsumed = 0
        guard hasAnswered else { return }
        if isOver {
            if revisions.isEmpty, refusals.isEmpty { refusals += puller.missing(wanted) }
            return complete()
        }
        cutOff(KithError(.protocolViolation, "the answer ends before the last of its parts"))
    }

    /// One step; false when more bytes must come first.
    private func step() throws -> Bool {
        if let input, let piece = try input.next() {
            store(piece)
            return true
        }
        if inner != nil, let event = try inner?.nextEvent() {
            try handleInner(event)
            return true
        }
        guard let event = try outer?.nextEvent() else { return false }
        switch event {
        case .part(let headers):
            let type = headers["Content-Type"].flatMap(HTTPMediaType.init)
            text = []
            if type?.name == "multipart/related", let type {
                inner = try MultipartParser(boundary: type[parameter: "boundary"] ?? "")
            } else {
                // `error="true"`: a revision that is missing.
                isInText = type?[parameter: "error"] == nil
            }
        case .body(let bytes):
            if inner != nil {
                inner?.receive(bytes)
            } else if isInText {
                try addText(bytes)
            }
        case .partEnd:
            if let ended = inner {
                guard ended.isAtEnd else {
                    throw KithError(.protocolViolation, "a part of the answer ends before the last of its own parts")
                }
                inner = nil
            } else if isInText {
                try readDocument(text)
            }
            isInText = false
            text = []
            if parts != nil { try finishRevision() }
        case .end: isOver = true
        }
        return true
    }

    private func addText(_ bytes: [UInt8]) throws {
        text.append(contentsOf: bytes)
        textBytes += bytes.count
        guard textBytes <= session.limits.documentAnswerBytesMax else {
            throw KithError(.tooLarge, "the document has revisions of more than \(textBytes) bytes in all")
        }
        guard text.count <= DocumentLimits.documentBytesMax + DocumentLimits.attachmentStubsBytesMax else {
            throw KithError(.tooLarge, "the document has more than \(DocumentLimits.documentBytesMax) bytes")
        }
    }

    private func handleInner(_ event: MultipartEvent) throws {
        switch event {
        case .part(let headers):
            guard parts != nil else { return isInText = true }
            let place = headers["Content-Disposition"].flatMap(HTTPContentDisposition.fileName).flatMap { name in
                waiting.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
            }
            guard !waiting.isEmpty else {
                throw KithError(.badDocument, "the server sends more attachments than the document has")
            }
            // In the order of the document, where the part does not say which it is.
            let attachment = waiting.remove(at: place ?? 0)
            begin(try CouchDBAttachmentInput(attachment, encoding: headers["Content-Encoding"]))
        case .body(let bytes):
            if isInText { return try addText(bytes) }
            if let input, let bytes = try input.take(bytes) { store(bytes) }
        case .partEnd:
            if isInText {
                isInText = false
                try readDocument(text)
                text = []
            } else if let input {
                try input.end()
                finish(input)
            }
        case .end: break
        }
    }

    private func readDocument(_ text: [UInt8]) throws {
        try text.withUnsafeBytes { bytes in
            let parts = try CouchDBDocument.parse(bytes, of: wanted.name.id)
            self.parts = parts
            waiting = try Self.following(parts, bytes)
        }
        received = [:]
    }

    /// The attachments that follow, in the order of the text.
    private static func following(
        _ parts: DocumentParts, _ text: UnsafeRawBufferPointer
    ) throws -> [IncomingAttachment] {
        var waiting: [[UInt8]: IncomingAttachment] = [:]
        for attachment in parts.attachments ?? [] where attachment.content == .follows {
            waiting[Array(attachment.name.utf8)] = attachment
        }
        guard !waiting.isEmpty,
            let place = try JSONOutline.members(of: text).first(where: { $0.name == "_attachments" })?.range
        else { return [] }
        return try JSONOutline.members(of: UnsafeRawBufferPointer(rebasing: text[place]))
            .compactMap { waiting[Array($0.name.utf8)] }
    }

    // MARK: The store

    private func perform(_ request: StoreRequest, _ then: @escaping (StoreResult) throws -> Void) {
        isBusy = true
        session.perform(request) { [self] result in
            isBusy = false
            guard !isGivenUp else { return }
            if case .failed(let error) = result {
                // What is wrong with the bytes is this document's affair, and what is wrong with the disk is not.
                return [.badDocument, .tooLarge].contains(error.code) ? refuse(error) : session.storeFailed(result)
            }
            do {
                try then(result)
                pump()
            } catch {
                refuse(error)
            }
        }
    }

    private func begin(_ input: CouchDBAttachmentInput) {
        self.input = input
        perform(.beginStream(length: input.attachment.length)) { result in
            guard case .streamBegun(let writer) = result else { return }
            input.writer = writer
        }
    }

    private func store(_ bytes: [UInt8]) {
        guard let writer = input?.writer else { return }
        perform(.appendStream(writer, bytes)) { [self] _ in
            // The disk may be slower than the network.
            if let exchange { session.consumed(exchange, 0) }
        }
    }

    private func finish(_ input: CouchDBAttachmentInput) {
        guard let writer = input.writer else { return }
        perform(.finishStream(writer)) { [self] result in
            guard case .streamStored(let blob) = result else { return }
            self.input = nil
            let incoming = input.attachment
            let attachment = try incoming.resolved(digest: blob.digest, length: blob.length)
            received[Array(incoming.name.utf8)] = try DocumentAttachment(
                name: attachment.name, digest: attachment.digest, length: attachment.length,
                contentType: attachment.contentType, revpos: attachment.revpos,
                encoding: input.isUnpacked ? nil : attachment.encoding)
        }
    }

    // MARK: Revisions

    /// A revision and all its attachments have come.
    private func finishRevision() throws {
        guard let parts else { return }
        guard waiting.isEmpty else {
            throw KithError(.badDocument, "the attachment \(waiting[0].name) was to follow and did not")
        }
        self.parts = nil
        let list = try AttachmentList((parts.attachments ?? []).map(attachment))
        if let revision = CouchDBPuller.incoming(parts, of: wanted.name.id, attachments: list) {
            revisions.append(revision)
        }
    }

    private func attachment(_ incoming: IncomingAttachment) throws -> DocumentAttachment {
        if let attachment = received[Array(incoming.name.utf8)] { return attachment }
        guard let known = before[incoming.name], incoming.revpos ?? 0 <= beforeGeneration else {
            throw KithError(
                .attachmentMissing, "the server does not send the attachment \(incoming.name), which is not here")
        }
        let attachment = try incoming.resolved(
            digest: known.digest, length: known.length, revpos: known.revpos, contentType: known.contentType)
        return try DocumentAttachment(
            name: attachment.name, digest: attachment.digest, length: attachment.length,
            contentType: attachment.contentType, revpos: attachment.revpos,
            encoding: incoming.digest == nil ? known.encoding : attachment.encoding)
    }

    // MARK: The end

    private func finishAnswer(_ answer: CouchDBAnswer) {
        hasAnswered = true
        if outer != nil {
            if !isBusy { pump() }
            return
        }
        if answer.isMissing {
            refusals += puller.missing(wanted)
            return complete()
        }
        if answer.status == 404, !answer.isAboutDatabase { return refuse(answer.unexplained) }
        if answer.isTooLong {
            return refuse(
                KithError(.tooLarge, "the server sends the attachments within the document, which is too large then"))
        }
        guard answer.isSuccess else { return session.end(answer) }
        do {
            switch try CouchDBFetched.single(answer, wanted) {
            case .documents(let documents): storeInline(documents[...])
            case .refused(let error): refuse(error)
            case .missing:
                refusals += puller.missing(wanted)
                complete()
            }
        } catch {
            session.fail(error)
        }
    }

    /// Stores what came within documents.
    private func storeInline(_ documents: ArraySlice<DocumentParts>) {
        guard let parts = documents.first else { return complete() }
        self.parts = parts
        received = [:]
        storeInline((parts.attachments ?? [])[...]) { [self] in
            try finishRevision()
            storeInline(documents.dropFirst())
        }
    }

    private func storeInline(_ attachments: ArraySlice<IncomingAttachment>, _ then: @escaping () throws -> Void) {
        guard let attachment = attachments.first else {
            do {
                return try then()
            } catch {
                return refuse(error)
            }
        }
        guard case .inline(let bytes) = attachment.content else {
            return storeInline(attachments.dropFirst(), then)
        }
        perform(.beginStream(length: UInt64(bytes.count))) { [self] result in
            guard case .streamBegun(let writer) = result else { return }
            perform(.appendStream(writer, bytes)) { [self] _ in
                perform(.finishStream(writer)) { [self] result in
                    guard case .streamStored(let blob) = result else { return }
                    // What it says of an encoding is about bytes that the server has unpacked.
                    received[Array(attachment.name.utf8)] = try DocumentAttachment(
                        name: attachment.name, digest: blob.digest, length: blob.length,
                        contentType: attachment.contentType, revpos: attachment.revpos)
                    storeInline(attachments.dropFirst(), then)
                }
            }
        }
    }

    /// The document cannot be kept; the rest of the answer is not wanted.
    private func refuse(_ error: any Error) {
        let error = error as? KithError ?? KithError(.badDocument, (error as? HTTPParseError)?.reason ?? "\(error)")
        refusals.append(.incoming(wanted.name.id.text, wanted.name.revision.description, error))
        revisions = []
        giveUp()
        complete()
    }

    private func giveUp() {
        isGivenUp = true
        input?.writer?.cancel()
        input = nil
        if let exchange { session.cancel(exchange) }
    }

    private func cutOff(_ error: KithError) {
        guard !isGivenUp else { return }
        giveUp()
        if !receiver.cutOff(wanted) { refuse(error) }
    }

    private func complete() {
        isGivenUp = true
        if let exchange { session.consumed(exchange, unconsumed) }
        unconsumed = 0
        // Nothing of it is called any more.
        exchange?.forget()
        exchange = nil
        let receiver = self.receiver
        let wanted = self.wanted
        puller.store(revisions, refusals, of: [wanted]) { receiver.done(wanted) }
    }
}
