import KithDocuments

// How bytes get into the database: see `BlobWriter`.
extension BlobWriter {
    private enum Step {
        case done
        case wait
        case store([UInt8], number: Int?, stored: Int)
        case tooLarge
        case failed(any Error)
    }

    /// Moves bytes to the buffer, and hands it to the store as often as it is full.
    func store(
        _ bytes: ArraySlice<UInt8>, _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        var rest = bytes
        while true {
            switch take(&rest, completion) {
            case .done: return completion(.success(()))
            case .wait: return
            case .failed(let error): return completion(.failure(error))
            case .store(let full, let number, let stored): submit(full, number, stored)
            case .tooLarge:
                let error = KithError(
                    .tooLarge,
                    "A blob has more bytes than \(expectedLength == nil ? "it may have" : "were announced")")
                giveUp()
                return completion(.failure(error))
            }
        }
    }

    /// One step of `store`.
    private func take(
        _ rest: inout ArraySlice<UInt8>, _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) -> Step {
        let capacity = StoreLimits.blobPieceBytes * StoreLimits.blobPiecesPerCommitMax
        return state.update { state in
            guard
                UInt64(state.byteCount + rest.count) <= expectedLength ?? DocumentLimits.attachmentsBytesMax
            else { return .tooLarge }
            // Of the last full buffer, if that was stored meanwhile.
            if let failure = state.failure {
                state.failure = nil
                state.isBusy = false
                return .failed(failure)
            }
            let count = min(capacity - state.buffer.count, rest.count)
            if state.buffer.isEmpty, count > 0 { state.buffer.reserveCapacity(capacity) }
            rest.prefix(count).withUnsafeBytes { state.buffer.append(contentsOf: $0) }
            rest = rest.dropFirst(count)
            // The last piece of all may be a full one, but is left for `finish`.
            guard !rest.isEmpty else {
                state.isBusy = false
                return .done
            }
            guard state.storing == 0 else {
                state.waiting = .append(rest, completion)
                return .wait
            }
            let full = state.buffer
            state.buffer = []
            state.storing = full.count
            return .store(full, number: state.number, stored: state.stored)
        }
    }

    /// Stores a full buffer. The disk is not waited for: the commit of `finish` carries it along.
    private func submit(_ full: [UInt8], _ number: Int?, _ stored: Int) {
        let expected = expected
        let lease = database.blobLease(isExpected: expected != nil)
        let claimed = Monitor<Int?>(nil)
        database.submitUnflushedWrite { [database] transaction in
            let blob = try transaction.extendBlob(
                number, by: Self.pieces(full), after: stored, leasedUntil: lease, expected: expected)
            if number == nil, expected != nil {
                // In the transaction, so that no other link takes it.
                database.blobClaims.update { $0[blob] = .adding }
                claimed.update { $0 = blob }
                try database.tidyBeginnings(transaction)
            }
            return blob
        } completion: { [self] result in
            if case .failure = result, let blob = claimed.update({ $0 }) {
                database.blobClaims.update { $0[blob] = nil }
            }
            didStore(result, full.count, lease)
        }
    }

    private func didStore(_ result: Result<Int, any Error>, _ count: Int, _ lease: Int64) {
        let (waiting, givenUp, resting): (Waiting?, (number: Int, stored: Int)?, Int?) = state.update { state in
            var givenUp: (number: Int, stored: Int)?
            state.storing = 0
            switch result {
            case .success(let number) where state.isOver: givenUp = (number, state.stored + count)
            case .success(let number):
                state.number = number
                state.stored += count
                state.leasedUntil = lease
            case .failure(let error):
                // Told to whoever waits, else to the next call.
                if state.waiting == nil { state.failure = error }
            }
            defer { state.waiting = nil }
            return (state.waiting, givenUp, state.isResting ? state.number : nil)
        }
        if let resting { database.blobClaims.update { $0[resting] = .resting } }
        var failure: (any Error)?
        if case .failure(let error) = result { failure = error }
        if let givenUp {
            abandon(givenUp.number, after: givenUp.stored)
            failure = KithError(.closed, "A blob was given up while bytes were added to it")
        }
        if let failure {
            letGo(after: failure)
            if waiting != nil { state.update { $0.isBusy = false } }
            switch waiting {
            case .append(_, let completion): completion(.failure(failure))
            case .finish(let completion): completion(.failure(failure))
            case nil: break
            }
            return
        }
        switch waiting {
        case .append(let rest, let completion): store(rest, completion)
        case .finish(let completion): storeRest(completion)
        case nil: break
        }
    }

    /// Stores what is left, in the transaction that ends the blob; everything before it is in the database.
    func storeRest(_ completion: @escaping @Sendable (Result<Blob, any Error>) -> Void) {
        do {
            let (rest, stored, number, isOver) = state.update { ($0.buffer, $0.stored, $0.number, $0.isOver) }
            if isOver { throw KithError(.closed, "A blob was given up while it was ended") }
            let blob = Blob(
                digest: try AttachmentDigest(bytes: hasher.end()), length: UInt64(stored + rest.count))
            if let expectedLength, blob.length != expectedLength {
                throw KithError(
                    .badDocument, "\(expectedLength) bytes of a blob were announced, \(blob.length) came")
            }
            if let expectedDigest, blob.digest != expectedDigest {
                throw KithError(
                    .badDocument,
                    "The bytes of a blob are not those that were announced: \(blob.digest), not \(expectedDigest)",
                    remedy: "Send them again")
            }
            let lease = database.blobLease(isExpected: false)
            database.submitWrite { [database] transaction in
                try transaction.finishBlob(
                    number, lastPieces: Self.pieces(rest), after: stored, digest: blob.digest, leasedUntil: lease)
                try transaction.abandonBeginnings(of: blob, database.blobClaims.update { $0 })
            } completion: { [self] result in
                switch result {
                case .success:
                    state.update { state in
                        state.isOver = true
                        state.number = nil
                        state.buffer = []
                    }
                    if let number { database.blobClaims.update { $0[number] = nil } }
                    completion(.success(blob))
                case .failure(let error):
                    letGo(after: error)
                    state.update { $0.isBusy = false }
                    completion(.failure(error))
                }
            }
        } catch {
            giveUp()
            completion(.failure(error))
        }
    }

    private static func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: StoreLimits.blobPieceBytes).map {
            bytes[$0..<min($0 + StoreLimits.blobPieceBytes, bytes.count)]
        }
    }
}
