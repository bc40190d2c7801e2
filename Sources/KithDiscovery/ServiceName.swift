import CAvahi

/// Names of service instances: cutting them, and finding another where one is taken.
enum ServiceName {
    /// The longest beginning of the name that fits, cut between two characters as people see them; a single character
    /// that is larger than the room is cut between its scalars.
    static func cut(_ name: String, bytesMax: Int) -> String {
        guard name.utf8.count > bytesMax else { return name }
        var cut = ""
        var count = 0
        for character in name {
            count += character.utf8.count
            if count > bytesMax { break }
            cut.append(character)
        }
        if cut.isEmpty {
            count = 0
            for scalar in name.unicodeScalars {
                count += scalar.utf8.count
                if count > bytesMax { break }
                cut.unicodeScalars.append(scalar)
            }
        }
        return cut
    }

    /// The name to try after `attempt` names (1 and up) were taken: first numbers as Avahi writes them (`name #2`), then
    /// the short ID, which no other node has, so that many nodes of one name do not count against each other for long.
    static func alternative(to current: String, base: String, attempt: Int, shortID: String) -> String {
        if attempt <= DiscoveryLimits.numberedNamesMax, let text = avahi_alternative_service_name(current) {
            defer { avahi_free(text) }  // Avahi's function gives the text to its caller
            let next = String(cString: text)
            if next.utf8.count <= DiscoveryLimits.instanceNameBytesMax { return next }
        }
        let suffix = attempt <= DiscoveryLimits.numberedNamesMax + 1 ? " \(shortID)" : " \(shortID) #\(attempt)"
        return cut(base, bytesMax: DiscoveryLimits.instanceNameBytesMax - suffix.utf8.count) + suffix
    }

    /// Whether a name from outside can be shown: no control characters, and none that turn the text around them. No Kith
    /// node publishes another.
    static func isPresentable(_ name: String) -> Bool {
        guard (1...DiscoveryLimits.instanceNameBytesMax).contains(name.utf8.count) else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isBidiControl
            }
        }
    }
}
