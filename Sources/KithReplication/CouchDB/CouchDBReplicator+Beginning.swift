import KithDocuments

/// How a session begins: is the database there, and where did the last session stop?
extension CouchDBReplicator {
    func begin() {
        send(CouchDBRequest("GET", ""), bodyMax: limits.stateAnswerBytesMax) { [unowned self] answer in
            if answer.status == 404, configuration.createsTarget, configuration.directions.contains(.send) {
                return createTarget()
            }
            guard answer.isSuccess else { return end(answer) }
            do {
                // What answers everything with a page of its own is no CouchDB.
                let value = try answer.json()
                guard value["db_name"] != nil || value["update_seq"] != nil else {
                    throw KithError(
                        .protocolViolation, "the answer to \(answer.request.shown) is not about a database",
                        remedy: "Check that this is the URL of a database of CouchDB")
                }
                readCheckpoints(instanceStartTime: value["instance_start_time"])
            } catch {
                let error = error as? KithError ?? KithError(.protocolViolation, "\(error)")
                end(
                    .failed(
                        KithError(error.code, "\(configuration.peerName): \(error.message)", remedy: error.remedy),
                        mayHelp: false, retryAfterSeconds: nil))
            }
        }
    }

    private func createTarget() {
        send(CouchDBRequest("PUT", ""), bodyMax: limits.stateAnswerBytesMax) { [unowned self] answer in
            // 412: somebody else has made it meanwhile.
            guard answer.isSuccess || answer.status == 412 else { return end(answer) }
            readCheckpoints(instanceStartTime: nil)
        }
    }

    private func readCheckpoints(instanceStartTime: JSONValue?) {
        let directions = configuration.directions
        let send =
            directions.contains(.send)
            ? CouchDBCheckpointer(
                session: self, name: configuration.sendCheckpoint, isOfServerAsTarget: true,
                instanceStartTime: instanceStartTime) : nil
        let receive =
            directions.contains(.receive)
            ? CouchDBCheckpointer(
                session: self, name: configuration.receiveCheckpoint, isOfServerAsTarget: false,
                instanceStartTime: instanceStartTime) : nil
        let waiting = [send, receive].compactMap { $0 }
        var open = waiting.count
        for checkpointer in waiting {
            checkpointer.load { [unowned self] in
                open -= 1
                guard open == 0 else { return }
                run(
                    push: send.map { checkpointer in
                        let pusher = CouchDBPusher(session: self, since: checkpointer.saved?.uint64Value ?? 0)
                        checkpointer.position = { [unowned pusher] in pusher.completed.map { JSONValue($0) } }
                        return (pusher, checkpointer)
                    },
                    pull: receive.map { checkpointer in
                        let puller = CouchDBPuller(session: self, since: checkpointer.saved ?? 0)
                        checkpointer.position = { [unowned puller] in puller.completed }
                        return (puller, checkpointer)
                    })
            }
        }
    }
}
