import KithWire

// A peer that pulls from here.

extension CollectionReplicator {
    func subscribe(_ message: BLIPMessage) {
        guard configuration.role == .passive else {
            return session.replyError(domain: "LiteCore", code: 501, "this side is the active one", to: message)
        }
        guard pusher == nil else {
            return session.replyError(domain: "HTTP", code: 400, "changes are being sent already", to: message)
        }
        if let filter = message.properties["filter"] {
            return session.replyError(
                domain: "LiteCore", code: 19, "there is no filter \(filter.prefix(100))", to: message)
        }
        guard message.properties["versioning"] ?? "rev-trees" == "rev-trees" else {
            return session.replyError(domain: "LiteCore", code: 501, "only revision trees are spoken here", to: message)
        }
        let subscription: Subscription
        do {
            subscription = try Subscription(
                message, lastSequence: lastSequence, filterTag: configuration.filterTag, limits: configuration.limits)
        } catch {
            return session.replyError(error, to: message)
        }
        session.reply(to: message)
        let pusher = Pusher(replicator: self, subscription, lastSequence: lastSequence)
        self.pusher = pusher
    }
}
