import KithDiscovery

/// An event as one line: a word, then fields with tabs between them.
func probeLine(_ event: DiscoveryEvent) -> String {
    switch event {
    case .state(.on(let interfaces)):
        "on\t\(interfaces.joined(separator: ","))"
    case .state(.off(let reason, let remedy)):
        "off\t\(reason)\t\(remedy ?? "")"
    case .found(let node):
        "found\t\(node.instanceName)\t\(node.interface)\t\(node.shortID)\t\(node.protocolVersion)\t\(node.port)"
            + "\t\(node.isOwn ? "own" : "other")\t\(node.addresses.joined(separator: ","))"
    case .lost(let name, let interface):
        "lost\t\(name)\t\(interface)"
    case .published(let name):
        "published\t\(name)"
    case .notPublished(let reason, let remedy):
        "notPublished\t\(reason)\t\(remedy ?? "")"
    }
}
