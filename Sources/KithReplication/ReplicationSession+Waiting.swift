// How long the peer's answers are waited for.
//
// Time is counted in looks: each comes a while after the last, so that a machine that was asleep, or too busy to look, does not take
// its own absence for the peer's silence.

extension ReplicationSession {
    /// What has happened on the link, as far as it shows that an answer may still come.
    struct Activity: Equatable {
        /// Frames that went out.
        var frames: UInt64 = 0
        /// Answers, and pieces of answers, that came.
        var answers: UInt64 = 0
        /// What the peer asked for of attachments, and got.
        var blobs: UInt64 = 0
    }

    /// Looks which requests are not answered, when it is time.
    func lookForAnswers() {
        guard let due = nextLookSeconds, now.monotonicSeconds >= due else { return }
        nextLookSeconds = replyHandlers.isEmpty ? nil : now.monotonicSeconds + configuration.limits.answerLookSeconds
        let before = activityAtLook
        activityAtLook = activity
        // A Kith node that has the beginning of an attachment hashes it before it asks for the rest, which takes as long as it takes.
        let mayBeHashing = configuration.peerIsKith && blobSender.isNeeded
        var overdue: [UInt64] = []
        for (tag, reply) in replyHandlers where !reply.isGivenUp {
            // What has not gone out is not waited for, as long as anything goes out.
            if reply.emptied == outputEmptied, activity.frames != before.frames { continue }
            let isWorkedOn =
                if let patience = reply.patience {
                    patience.waitsForBlobs && activity.blobs != before.blobs
                } else {
                    mayBeHashing || activity.blobs != before.blobs || activity.answers != before.answers
                }
            let looks = isWorkedOn ? 0 : reply.looks + 1
            replyHandlers[tag]?.looks = looks
            if looks > configuration.limits.unansweredLooksMax { overdue.append(tag) }
        }
        giveUp(overdue)
    }

    /// A client that never answers one document is no reason to keep the others from it; one that answers nothing, or leaves
    /// too much unanswered, is asked anew on the next link, where nothing counts as done that was not answered.
    private func giveUp(_ overdue: [UInt64]) {
        guard !overdue.isEmpty else { return }
        let patient = overdue.filter { replyHandlers[$0]?.patience != nil }
        guard patient.count == overdue.count,
            givenUpCount + patient.count <= configuration.limits.unansweredGivenUpMax
        else {
            return end(
                closeCode: 4001,
                "the peer has not answered for \(Int(configuration.limits.unansweredSecondsMax)) s", code: .timedOut)
        }
        givenUpCount += patient.count
        for tag in patient.sorted() {
            guard var reply = replyHandlers[tag], let patience = reply.patience else { continue }
            reply.isGivenUp = true
            reply.handle = { [unowned self] message in
                givenUpCount -= 1
                patience.takeLate(message)
            }
            reply.patience = nil
            replyHandlers[tag] = reply
            if let replicator = reply.replicator { touch(replicator) }
            patience.giveUp()
        }
    }
}
