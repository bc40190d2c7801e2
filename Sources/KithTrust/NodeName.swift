import KithDocuments

/// The rule for names of nodes, the own one and those of peers.
public enum NodeName {
    /// Checks a name that is to be shown to people and written into a certificate.
    ///
    /// A name has 1 to 64 characters (Unicode scalars), no space at either end, no control characters or line breaks,
    /// none of the characters that turn the direction of the text around them (so a name cannot rewrite what a terminal
    /// shows beside it), and is not itself a node ID.
    ///
    /// - Throws: `badName`, with what is wrong.
    public static func check(_ name: String) throws(KithError) {
        guard let first = name.unicodeScalars.first, let last = name.unicodeScalars.last else {
            throw error("the name is empty")
        }
        guard name.unicodeScalars.count <= TrustLimits.nameCharactersMax else {
            throw error(
                "the name has \(name.unicodeScalars.count) characters, more than \(TrustLimits.nameCharactersMax)")
        }
        guard !first.properties.isWhitespace, !last.properties.isWhitespace else {
            throw error("the name begins or ends with a space")
        }
        for scalar in name.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                throw error("the name has a control character")
            default: break
            }
            guard !scalar.properties.isBidiControl, !scalar.properties.isNoncharacterCodePoint else {
                throw error("the name has a character that changes the direction of the text around it")
            }
        }
        guard (try? NodeID(parsing: name)) == nil else {
            throw error("the name is a node ID")
        }
    }

    private static func error(_ message: String) -> KithError {
        KithError(.badName, message, remedy: "Choose a short name such as 'kitchen-pi'")
    }
}
