import KithDocuments
import KithStore
import KithWire

/// Documents with their attachments behind them, as bodies of several parts (RFC 2046, RFC 2387).
enum MultipartAnswer {
    /// A document and its attachments: `multipart/related`.
    ///
    /// - Returns: the content, and its media type, which is JSON where nothing follows.
    static func related(
        _ document: StoredDocument, _ view: DocumentView, _ snapshot: Snapshot
    ) throws -> (content: RESTContent, contentType: String) {
        var view = view
        view.attachments = .following
        var text = RESTContent()
        let following = try view.append(document, snapshot, to: &text)
        guard !following.isEmpty else { return (text, "application/json") }
        let boundary = RESTDocument.newID()
        var content = RESTContent()
        content.append("--\(boundary)\r\nContent-Type: application/json\r\n\r\n")
        content.append(text)
        for attachment in following {
            content.append("\r\n--\(boundary)\r\nContent-Disposition: ")
            content.append(HTTPContentDisposition.attachment(fileName: attachment.name))
            content.append("\r\nContent-Type: \(attachment.contentType)\r\nContent-Length: \(attachment.length)")
            if let encoding = attachment.encoding { content.append("\r\nContent-Encoding: \(encoding)") }
            content.append("\r\n\r\n")
            content.append(.blob(attachment.digest, 0..<attachment.length))
        }
        content.append("\r\n--\(boundary)--")
        return (content, "multipart/related; boundary=\"\(boundary)\"")
    }

    /// A part of `multipart/mixed`, the delimiter before it included.
    static func part(_ content: RESTContent, contentType: String, boundary: String) -> RESTContent {
        var part = RESTContent()
        part.append("--\(boundary)\r\nContent-Type: \(contentType)\r\n\r\n")
        part.append(content)
        part.append("\r\n")
        return part
    }
}
