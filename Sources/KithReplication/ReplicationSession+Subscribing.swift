import KithWire

// A peer that pulls from here.

extension ReplicationSession {
    func subscribe(_ message: BLIPMessage) {
        guard configuration.role == .passive else {
            return replyError(domain: "LiteCore", code: 501, "this side is the active one", to: message)
        }
        guard pusher == nil else {
            return replyError(domain: "HTTP", code: 400, "changes are being sent already", to: message)
        }
        if let filter = message.properties["filter"] {
            return replyError(domain: "LiteCore", code: 19, "there is no filter \(filter.prefix(100))", to: message)
        }
        guard message.properties["versioning"] ?? "rev-trees" == "rev-trees" else {
            return replyError(domain: "LiteCore", code: 501, "only revision trees are spoken here", to: message)
        }
        let subscription: Subscription
        do {
            subscription = try Subscription(message, lastSequence: lastSequence, limits: configuration.limits)
        } catch {
            return replyError(error, to: message)
        }
        reply(to: message)
        let pusher = Pusher(session: self, subscription, lastSequence: lastSequence)
        self.pusher = pusher
        pusher.work()
    }
}
