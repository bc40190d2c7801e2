import KithDocuments

/// Resolves the documents of a database that are in conflict, by itself: by the three-way merge where the database is set to
/// it (`DatabaseSettings.mergePolicy`), or as an app says.
///
/// ```swift
/// let resolver = ConflictResolver(database: notes)
/// await resolver.setResolver { conflict in
///     .merged(body: await mine(conflict.versions, conflict.commonAncestor))
/// }
/// let work = Task { await resolver.run() }
/// ```
///
/// - Conflicts that are there when it begins are resolved as well as those that come, in all collections.
/// - Each is resolved in one transaction, or not at all. Doing it again changes nothing.
/// - A document that cannot be resolved is listed in `failures` and stops no other.
public actor ConflictResolver {
    /// Decides how a conflict ends. It may take its time; the database goes on meanwhile. If the document has changed when
    /// it answers, the answer is dropped and it is asked again. What it throws is noted, and it is asked again later, or when
    /// the document changes.
    ///
    /// For the common ancestor to be there, old bodies must be kept: `DatabaseSettings.keepsOldBodies`. Where several nodes
    /// resolve, the same versions should give the same answer on each; otherwise the answers are in conflict again.
    public typealias Resolve = @Sendable (DocumentConflict) async throws -> ConflictResolution

    typealias Key = ConflictAgenda.Key

    let database: Database
    private let wakes: AsyncStream<Void>
    private nonisolated let waker: AsyncStream<Void>.Continuation
    private nonisolated let onChange: @Sendable () -> Void
    private let clock = ContinuousClock()
    private let start = ContinuousClock().now

    private var resolve: Resolve?
    var agenda = ConflictAgenda()
    private var feed = ConflictFeed()
    /// Collections that have changed since they were read.
    private nonisolated let changed = Monitor(Set<CollectionName>())
    /// Counts how often everything was begun anew.
    private var beginnings = 0
    /// The app's answers that are waited for, numbered.
    private var running: [UInt64: Task<Void, Never>] = [:]
    private var lastAsked: UInt64 = 0
    private var observation: ObservationToken?
    private var alarm: Task<Void, Never>?
    private var failed: [Key: ConflictFailure] = [:]
    /// Conflicts that were resolved, in whole or in part.
    public private(set) var resolvedCount = 0

    /// One for a database; it does nothing before `run`.
    ///
    /// - Parameter onChange: called when `failures` or `resolvedCount` has changed, on any thread.
    public init(database: Database, onChange: @escaping @Sendable () -> Void = {}) {
        self.database = database
        self.onChange = onChange
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has an app decide from now on, whatever the database is set to; nil: no more. Conflicts that are there are looked at
    /// anew.
    public func setResolver(_ resolve: Resolve?) {
        self.resolve = resolve
        forgetAll()
        waker.yield()
    }

    /// Says that the settings of the database may have changed.
    public nonisolated func settingsChanged() { waker.yield() }

    /// The conflicts that could not be resolved, at most `StoreLimits.conflictFailuresMax`.
    public var failures: [ConflictFailure] { Array(failed.values) }

    /// Works until the task is cancelled, or until it finds the database closed. To be called once.
    public func run() async {
        waker.yield()
        for await _ in wakes {
            do {
                while try await step(), !Task.isCancelled {}
            } catch ErrorCode.closed {
                break
            } catch {
                // The database cannot be read now; nothing was taken.
                setAlarm(inMilliseconds: StoreLimits.conflictRetryMillisecondsMin)
            }
            if Task.isCancelled { break }
        }
        observation?.cancel()
        alarm?.cancel()
        // Not waited for: an app may think on, and its answer finds nobody.
        for task in running.values { task.cancel() }
        running = [:]
    }

    // MARK: What is to be done

    /// Does a part of what is to be done now.
    ///
    /// - Returns: whether there is more.
    private func step() async throws -> Bool {
        let isMerging = try await read { try $0.settings().mergePolicy == .threeWay }
        guard resolve != nil || isMerging else {
            // Whoever has nothing to do costs other writes nothing.
            observation = nil
            forgetAll()
            return false
        }
        if observation == nil {
            let (waker, changed) = (waker, changed)
            observation = database.observeCollections(
                { lastSequences in
                    changed.update { $0.formUnion(lastSequences.keys) }
                    waker.yield()
                }, onClose: { waker.finish() })
        }
        var isPartial = false
        if agenda.takeForgotten() { feed.scanAgain() }
        if agenda.hasRoom {
            let (before, beginning) = (feed, beginnings)
            let taken = changed.update { names in
                defer { names = [] }
                return names
            }
            let (findings, after): (ConflictFeed.Findings, ConflictFeed)
            do {
                (findings, after) = try await read { snapshot in
                    var feed = before
                    let findings = try feed.read(snapshot, changed: taken)
                    return (findings, feed)
                }
            } catch {
                changed.update { $0.formUnion(taken) }
                throw error
            }
            // Everything may have been begun anew meanwhile.
            guard beginning == beginnings else { return true }
            feed = after
            take(findings)
            isPartial = findings.isPartial
        }
        let done = resolve.map(ask) ?? 0
        let merged = resolve == nil ? await merge() : 0
        if let due = agenda.nextDue { setAlarm(inMilliseconds: due - now) }
        return done + merged > 0 || isPartial && agenda.hasRoom
    }

    private func take(_ findings: ConflictFeed.Findings) {
        for key in findings.found { agenda.noteFound(key, now: now) }
        for key in findings.changed { agenda.note(key, now: now) }
        for key in findings.others {
            agenda.forget(key)
            setFailure(nil, of: key)
        }
        for name in findings.clear {
            for key in failed.keys where key.collection == name { setFailure(nil, of: key) }
        }
    }

    private func forgetAll() {
        beginnings += 1
        agenda = ConflictAgenda()
        feed = ConflictFeed()
        for task in running.values { task.cancel() }
        running = [:]
        for key in failed.keys { setFailure(nil, of: key) }
    }

    /// What became of an attempt to resolve a conflict.
    enum Attempt: Sendable {
        case done(isResolved: Bool)
        /// These versions wait for a node that knows more.
        case waits([RevisionID], KithError)
        case failure(any Error)
    }

    func finish(_ key: Key, _ result: Attempt) {
        let outcome: ConflictAgenda.Outcome
        switch result {
        case .done(let isResolved):
            outcome = isResolved ? .resolved : .unchanged
            if isResolved { resolvedCount += 1 }
            setFailure(nil, of: key)
            if isResolved { onChange() }
        case .waits(let versions, let error):
            outcome = .waits(versions)
            setFailure(ConflictFailure(collection: key.collection, id: key.id, error: error, isRetried: true), of: key)
        case .failure(ErrorCode.conflict): outcome = .overtaken
        case .failure(let error):
            let known = error as? KithError
            // What an app throws may hold parts of a document.
            let reason =
                known
                ?? KithError(
                    .cannotMerge, "The app's resolver failed for document \(key.id): \(type(of: error))",
                    remedy: "Resolve it by hand, or mend the app")
            let isRetried = known?.code.isRetryable ?? true
            outcome = isRetried ? .failedForNow : .failed
            setFailure(
                ConflictFailure(collection: key.collection, id: key.id, error: reason, isRetried: isRetried), of: key)
        }
        agenda.finish(key, outcome, now: now, random: .random(in: 0...1))
    }

    private func setFailure(_ failure: ConflictFailure?, of key: Key) {
        if let failure {
            guard failed[key] != nil || failed.count < StoreLimits.conflictFailuresMax else { return }
            failed[key] = failure
        } else if failed.removeValue(forKey: key) == nil {
            return
        }
        onChange()
    }

    // MARK: An app's resolver

    /// Asks the app about documents that are due, as many at once as may be.
    ///
    /// - Returns: how many.
    private func ask(_ resolve: @escaping Resolve) -> Int {
        let keys = agenda.take(StoreLimits.resolversRunningMax - running.count, now: now)
        for key in keys {
            lastAsked += 1
            let number = lastAsked
            running[number] = Task {
                let result = await self.ask(resolve, about: key)
                self.answered(number, key, result)
            }
        }
        return keys.count
    }

    private func answered(_ number: UInt64, _ key: Key, _ result: Attempt) {
        // One that was cancelled answers to nobody.
        guard running.removeValue(forKey: number) != nil else { return }
        finish(key, result)
        waker.yield()
    }

    private func ask(_ resolve: Resolve, about key: Key) async -> Attempt {
        let waiting = agenda.waiting(key)
        do {
            let conflict = try await read { snapshot in
                guard try snapshot.hasCollection(key.collection) else { return DocumentConflict?.none }
                return try snapshot.collection(key.collection).conflict(key.id)
            }
            guard let conflict else { return .done(isResolved: false) }
            let resolution = try await resolve(conflict)
            try Task.checkCancellation()
            let now = now
            return try await database.write { transaction in
                let collection = try transaction.collection(key.collection)
                return try Self.resolve(conflict, waiting, now: now) { isPatient in
                    _ = try collection.resolve(conflict, as: resolution, isPatient: isPatient)
                    return true
                }
            }
        } catch {
            return .failure(error)
        }
    }

    // MARK: Time

    /// Milliseconds since this began.
    var now: Int64 {
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    private func setAlarm(inMilliseconds milliseconds: Int64) {
        alarm?.cancel()
        let waker = waker
        alarm = Task {
            try? await Task.sleep(for: .milliseconds(max(1, milliseconds)))
            if !Task.isCancelled { waker.yield() }
        }
    }

    private func read<T: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> T) async throws -> T {
        let database = database
        return try await withCheckedThrowingContinuation { continuation in
            database.submitRead(body) { continuation.resume(with: $0) }
        }
    }
}
