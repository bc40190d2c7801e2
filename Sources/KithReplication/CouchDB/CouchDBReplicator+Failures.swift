import KithDocuments

extension CouchDBReplicator {
    /// A request got no answer, or a part of one.
    public func receiveFailure(_ number: UInt64, _ error: KithError, now: ReplicationInstant) {
        handle(now) {
            guard let exchange = exchanges.removeValue(forKey: number) else { return }
            if let onCut = exchange.onCut { return onCut(error) }
            let told = KithError(
                error.code, "\(configuration.peerName): \(exchange.request.shown): \(error.message)",
                remedy: error.remedy)
            failed(exchange, .failed(told, mayHelp: error.code.isRetryable, retryAfterSeconds: nil))
        }
    }

    /// Time has passed: called at `deadlineSeconds`, or later.
    public func tick(now: ReplicationInstant) {
        handle(now) {
            let silent = exchanges.values.filter { now.monotonicSeconds >= $0.silentSeconds }
                .min { $0.number < $1.number }
            guard let silent else { return }
            let heardSeconds = Int(now.monotonicSeconds - silent.heardSeconds)
            let told =
                heardSeconds >= Int(silent.silenceSecondsMax)
                ? "was silent for \(heardSeconds) s during" : "has not answered in \(Int(limits.wholeSecondsMax)) s to"
            let error = KithError(.timedOut, "\(configuration.peerName) \(told) \(silent.request.shown)")
            exchanges[silent.number] = nil
            actions.append(.cancel(number: silent.number))
            failed(silent, .failed(error, mayHelp: true, retryAfterSeconds: nil))
        }
    }

    /// Whether a request about it failed in a session before: then it goes by itself, so that it shows whose fault that is.
    func hasFailed(_ revision: CouchDBConfiguration.RefusedRevision) -> Bool {
        configuration.failuresBefore[revision] != nil
    }

    /// A request failed, perhaps because of a document that it is about: the server has answered others of this session.
    ///
    /// A document that fails by itself too often is refused, and the session goes on; so is one that was refused before. Else the
    /// session ends.
    func failed(_ exchange: CouchDBExchange, _ end: CouchDBEnd) {
        let about = exchange.request.about
        if case .failed(let error, mayHelp: true, _) = end, about.count == 1, let onFailed = exchange.onFailed,
            refused.contains(about[0])
                || configuration.failuresBefore[about[0], default: 0] + 1 >= limits.attemptsMax
        {
            return onFailed(error)
        }
        suspects = about
        self.end(end)
    }
}
