import KithDocuments

/// Keeps the checkpoint of one direction in `_local` documents of both sides.
///
/// What it claims is durable first: what was received is when the store has answered, what was sent when the server has answered
/// `_ensure_full_commit`, where it has that. The server's copy is written before ours.
final class CouchDBCheckpointer {
    private unowned let session: CouchDBReplicator
    private let name: String
    private let isOfServerAsTarget: Bool
    private let instanceStartTime: JSONValue?
    /// How far everything is done.
    var position: () -> JSONValue? = { nil }
    /// What both copies say.
    private(set) var saved: JSONValue?
    private var start: JSONValue = 0
    private var startTime = ""
    private var serverRevision: String?
    private var ownNumber: UInt64 = 0
    private var server: CouchDBCheckpoint?
    private var own: CouchDBCheckpoint?
    private var dirtySinceSeconds: Double?
    private var isSaving = false
    /// Whether the server takes no checkpoint: then the next session begins at its beginning, which costs time and nothing else.
    private var isRefused = false
    private var hasFullCommit = true
    private var conflictsLeft = 3

    init(
        session: CouchDBReplicator, name: String, isOfServerAsTarget: Bool, instanceStartTime: JSONValue?
    ) {
        self.session = session
        self.name = name
        self.isOfServerAsTarget = isOfServerAsTarget
        self.instanceStartTime = instanceStartTime
    }

    private var path: String { "/_local/\(name)" }
    private var localName: String { "_local/\(name)" }

    /// Reads both copies.
    func load(then done: @escaping () -> Void) {
        startTime = DateText.utc(session.now.wallSeconds)
        session.perform(.readLocal(name: localName)) { [unowned self] result in
            guard case .local(let bytes) = result else { return session.storeFailed(result) }
            if let bytes { readOwn(bytes) }
            fetch { [unowned self] in
                saved = CouchDBCheckpoint.common(own, server)
                start = saved ?? 0
                done()
            }
        }
    }

    /// A local document as REST keeps it, where it can be seen: a line with its number, then its body.
    private func readOwn(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let number = UInt64(String(decoding: bytes[..<end], as: UTF8.self))
        else { return }
        ownNumber = number
        own = (try? JSONValue(parsing: Array(bytes[(end + 1)...]))).flatMap(CouchDBCheckpoint.init)
    }

    private func fetch(then done: @escaping () -> Void) {
        session.send(CouchDBRequest("GET", path), bodyMax: session.limits.stateAnswerBytesMax) {
            [unowned self] answer in
            server = nil
            serverRevision = nil
            switch answer.status {
            case 404: return done()
            case 401, 403:
                // Who may not read it here may not write it either.
                isRefused = true
                return done()
            default: break
            }
            guard answer.isSuccess else { return session.end(answer) }
            do {
                let document = try answer.json()
                serverRevision = document["_rev"]?.stringValue
                server = CouchDBCheckpoint(document)
                done()
            } catch {
                session.fail(error)
            }
        }
    }

    // MARK: Saving

    /// Whether all that is done is saved, as far as the server lets it.
    var isSaved: Bool { isRefused || (!isSaving && !isDirty) }

    private var isDirty: Bool { position().map { $0 != saved } ?? false }

    /// When a save is due, in monotonic seconds.
    var deadlineSeconds: Double? {
        guard !isRefused, !isSaving, let dirtySinceSeconds else { return nil }
        return dirtySinceSeconds + session.limits.checkpointSeconds
    }

    /// Looks whether it is time to save; called after each input.
    func advance(isIdle: Bool) {
        guard !isRefused, !isSaving, isDirty else { return }
        let now = session.now.monotonicSeconds
        let since = dirtySinceSeconds ?? now
        dirtySinceSeconds = since
        guard isIdle || now >= since + session.limits.checkpointSeconds else { return }
        guard let position = position() else { return }
        isSaving = true
        guard isOfServerAsTarget, hasFullCommit else { return save(position) }
        makeDurable { [unowned self] in save(position) }
    }

    /// Has the server write to its disk what it has answered.
    private func makeDurable(then done: @escaping () -> Void) {
        session.send(
            CouchDBRequest("POST", "/_ensure_full_commit", json: Array("{}".utf8)),
            bodyMax: session.limits.stateAnswerBytesMax
        ) { [unowned self] answer in
            if answer.isAboutDatabase { return session.end(answer) }
            if [400, 404, 405, 410, 501].contains(answer.status) {
                // A server without it makes durable what it answers, or says so otherwise.
                hasFullCommit = false
                return done()
            }
            guard answer.isSuccess else { return session.end(answer) }
            do {
                let value = try answer.json()
                if let began = instanceStartTime, let begins = value["instance_start_time"], began != begins {
                    throw KithError(
                        .busy, "the server was started anew meanwhile, and may have lost what it had answered")
                }
                done()
            } catch {
                session.fail(error)
            }
        }
    }

    private func save(_ position: JSONValue) {
        let checkpoint = CouchDBCheckpoint.make(
            session: session.configuration.sessionID, position: position, start: start, startTime: startTime,
            endTime: DateText.utc(session.now.wallSeconds), isOutgoing: isOfServerAsTarget, replicator: session,
            before: own,
            sessionsMax: session.limits.historySessionsMax)
        var document = checkpoint.body
        document["_id"] = .string(localName)
        if let serverRevision { document["_rev"] = .string(serverRevision) }
        session.send(
            CouchDBRequest("PUT", path, json: document.canonicalBytes()),
            bodyMax: session.limits.stateAnswerBytesMax
        ) { [unowned self] answer in
            if answer.isAboutDatabase { return session.end(answer) }
            switch answer.status {
            case 409 where conflictsLeft > 0:
                conflictsLeft -= 1
                let wasThere = serverRevision != nil
                return fetch { [unowned self] in
                    // A database that was made anew has none, and not what was sent to the one before it either.
                    guard !wasThere || server != nil else {
                        return session.end(
                            KithError(
                                .busy, "the server's checkpoint has gone: its database was made anew, or restored"))
                    }
                    save(position)
                }
            case 401, 403, 404, 405, 501:
                (isRefused, isSaving, dirtySinceSeconds) = (true, false, nil)
                return
            default: break
            }
            guard answer.isSuccess else { return session.end(answer) }
            guard let revision = (try? answer.json())?["rev"]?.stringValue else {
                return session.end(
                    KithError(.protocolViolation, "the answer to \(answer.request.shown) names no revision"))
            }
            conflictsLeft = 3
            serverRevision = revision
            saveOwn(checkpoint, position)
        }
    }

    /// The copy here is written last: it never claims more than the server's.
    private func saveOwn(_ checkpoint: CouchDBCheckpoint, _ position: JSONValue) {
        let text = Array("\(ownNumber + 1)\n".utf8) + checkpoint.body.canonicalBytes()
        session.perform(.writeLocal([LocalDocument(name: localName, body: text)])) { [unowned self] result in
            guard case .written = result else { return session.storeFailed(result) }
            ownNumber += 1
            own = checkpoint
            saved = position
            isSaving = false
            dirtySinceSeconds = nil
        }
    }
}
