import KithDocuments
import KithStore

/// What a feed of changes is asked for, and how far it has come.
struct ChangesRequest: Sendable {
    enum Feed: String {
        /// Ends with what there is.
        case normal
        /// Waits for the first change.
        case longpoll
        /// Goes on, a change a line.
        case continuous
        /// Goes on, as server-sent events of HTML.
        case eventsource
    }

    var feed = Feed.normal
    /// Changes up to this sequence were told, or are not asked for.
    var since: UInt64 = 0
    /// With `isDescending`: changes beyond this sequence were told.
    var through: UInt64?
    var left = Int.max
    var isDescending = false
    var showsAllLeaves = false
    var includesBodies = false
    var view = DocumentView()
    var documentIDs: [DocumentID]?
    var selector: Selector?
    var designDocumentsOnly = false
    /// How long it is silent at most; nil when no sign of life was asked for.
    var heartbeatSeconds: Double?
    /// How long it waits for a change, where no sign of life was asked for.
    var timeoutSeconds = Double(NodeLimits.feedMillisecondsDefault) / 1_000

    /// Reads a request.
    ///
    /// - Parameter last: the sequence of the last change.
    /// - Throws: `.badRequest`, naming what is wrong; `.notImplemented` for a filter in JavaScript.
    init(_ request: RESTRequest, last: UInt64) throws {
        guard let feed = Feed(rawValue: request.query["feed"] ?? "normal") else {
            throw KithError(
                .badRequest, "there is no feed \"\(request.query["feed"]?.prefix(100) ?? "")\"",
                remedy: "There are normal, longpoll, continuous and eventsource")
        }
        self.feed = feed
        let position =
            request.query["since"] ?? request.query["last-event-id"] ?? request.headers["Last-Event-ID"]
        switch position {
        case nil: since = 0
        case "now"?, "\"now\""?: since = last
        case let text?:
            guard let number = UInt64(text.filter { $0 != "\"" }) else {
                throw KithError(
                    .badRequest, "since must be a sequence of this database or now, not \"\(text.prefix(100))\"")
            }
            // Whoever is beyond the end waits for the next change, and not for so many more.
            since = min(number, last)
        }
        // As in CouchDB, a limit of 0 is one of 1.
        left = max(try request.integer("limit") ?? .max, 1)
        isDescending = try request.flag("descending")
        guard !isDescending || feed == .normal || feed == .longpoll else {
            throw KithError(
                .badRequest, "feed=\(feed.rawValue) goes on with what comes, and cannot be descending",
                remedy: "Leave descending out, or use feed=normal")
        }
        includesBodies = try request.flag("include_docs")
        view = try DocumentView(request)
        view.showsHistory = try request.flag("revs")
        showsAllLeaves = request.query["style"] == "all_docs"
        if let heartbeat = request.query["heartbeat"], heartbeat != "false" {
            let isDefault = heartbeat == "true"
            let milliseconds =
                try isDefault
                ? nil : request.integer("heartbeat", in: 1...NodeLimits.feedMillisecondsMax)
            heartbeatSeconds = Double(milliseconds ?? NodeLimits.feedMillisecondsDefault) / 1_000
        }
        if let milliseconds = try request.integer("timeout", in: 0...NodeLimits.feedMillisecondsMax) {
            timeoutSeconds = Double(milliseconds) / 1_000
        }
        try readFilter(request)
    }

    private mutating func readFilter(_ request: RESTRequest) throws {
        let body = request.method == "POST" && request.hasBody ? try request.jsonObject() : JSONObject()
        switch request.query["filter"] {
        case nil:
            // CouchDB takes the list of a POST as the filter that it is.
            if body["doc_ids"] != nil { documentIDs = try Self.ids(body["doc_ids"]) }
        case "_doc_ids"?: documentIDs = try Self.ids(try body["doc_ids"] ?? request.json("doc_ids"))
        case "_selector"?:
            guard let value = body["selector"] else {
                throw KithError(.badRequest, "filter=_selector needs a POST with {\"selector\": {…}}")
            }
            selector = try Selector(value)
        case "_design"?: designDocumentsOnly = true
        case "sync_gateway/bychannel"?:
            // Without channels every document is in the one that all are in.
            let channels = request.query["channels"] ?? body["channels"]?.stringValue
            guard let channels else { throw KithError(.badRequest, "sync_gateway/bychannel needs channels") }
            guard channels.split(separator: ",").contains("*") else {
                throw CouchDBError.notServed(
                    "there are no channels here", "Ask for channels=*, which is every document")
            }
        case let name?:
            throw CouchDBError.notServed(
                "there is no filter \"\(name.prefix(100))\" here: filters in JavaScript are not served",
                "Use _doc_ids, _selector or _design")
        }
    }

    private static func ids(_ value: JSONValue?) throws -> [DocumentID] {
        guard let items = value?.arrayValue else { throw KithError(.badRequest, "doc_ids must be a list of IDs") }
        guard items.count <= NodeLimits.changesDocumentsMax else {
            throw KithError(
                .badRequest, "doc_ids has \(items.count) IDs; \(NodeLimits.changesDocumentsMax) are allowed",
                remedy: "Ask in several requests")
        }
        return try items.compactMap { item -> DocumentID? in
            guard let text = item.stringValue else { throw KithError(.badRequest, "doc_ids must be a list of IDs") }
            // What cannot be an ID is no document's.
            return try? DocumentID(text)
        }
    }
}
